// Finds the fastest configuration by simulation alone. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec.h"
#include "replay/sweep/predictor.h"

namespace stallscope::replay {

struct SearchLimits {
  uint64_t memory_bytes = 0;   // 0: none
  int cores = 1;               // that the run may use
  bool fewer_cores = false;    // fewer than this process may use: predict so
  unsigned threads = 2;        // for the simulations
  bool threads_of_job = true;  // whether job.threads has an effect: no code of the job's sets it
  // Whether runs have shown that it has the memory, called by several threads; may be empty.
  std::function<bool(const Spec&)> fits;
  std::function<bool()> stop_requested;   // may be empty
  std::function<void(size_t)> simulated;  // how many more; may be empty
};

// A configuration with its price, which has a rate.
struct Candidate {
  Spec spec;
  Price price;
};

// The best configuration, then others that are nearly as good or quite different, best first;
// `start` is the last. Climbs from the start and from `ideas` (patches of the start) that help, and
// down from a generous configuration; among configurations that are alike (half a percent, of a job
// kAlike) it takes an idea, or else the one that changes least. All but `start` fit into the
// memory. Empty where `start` itself cannot be predicted, or a stop came first.
std::vector<Candidate> Search(const Predictor& predictor, const Spec& start,
                              const std::vector<Patch>& ideas, const SearchLimits& limits);

}  // namespace stallscope::replay
