// Finds a better configuration for a recorded run: proposes by simulation, verifies by running.
//
// Runs the base, then the best configuration that the simulation proposes. The next proposal is
// simulated from that run, so that an error of the first simulation is not repeated. It ends when
// the next predicted gain is within the noise, or the run limit is reached; the remaining runs
// alternate between base and best, for a significant answer. Without a predictor (a job of several
// loaders) it tries the recommendations, then one setting at a time, further in each direction that
// helps. One thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/compare/compare.h"
#include "analyzer/spec/patch.h"
#include "replay/sweep/bench.h"
#include "replay/sweep/predictor.h"
#include "replay/sweep/search.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

enum class TuneGoal : uint8_t {
  kThroughput,  // the most samples per second
  kCost,        // the fewest cores that keep the device as busy as it can be kept
};

struct TuneOptions {
  TuneGoal goal = TuneGoal::kThroughput;
  unsigned max_runs = 10;
  SearchLimits limits;
  std::vector<Patch> ideas;  // the report's recommendations
  std::function<void(const std::string& doing, unsigned runs)> progress;  // may be empty
};

// A configuration that was tried, with its results.
struct Try {
  Spec spec;
  Point point;  // its patch is against the base
  std::vector<compare::RunSummary> runs;
};

struct Tuned {
  Try base;
  std::vector<Try> tries;      // in their order
  std::optional<size_t> best;  // of `tries`; nothing: none is better than the base
  // Best vs. base; empty if nothing was run, or nothing is better.
  std::optional<compare::Comparison> comparison;
  unsigned runs = 0;
  std::string ended;  // why it went no further, and which ideas it could not try
  // To how many of them the memory limit was not applied, and what to do; empty: to none.
  std::string unlimited;
  std::string bound;  // what bounds the best configuration, by the simulation: a stage, "trainer"
};

// `predictor` should make short simulations; null: by runs alone. Without a bench, by simulation
// alone. An error where the base itself cannot be run or predicted.
Result<Tuned> Tune(const Predictor* predictor, const Spec& base, Bench* bench,
                   const TuneOptions& options);

// The best spec, with budget.cores where fewer cores suffice.
Spec ResultOf(const Tuned& tuned);

}  // namespace stallscope::replay
