// Where a sweep's runs are made: a seam, so that tests need not run anything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/base/result.h"
#include "analyzer/compare/compare.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/rerun.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

struct Outcome {
  bool stopped = false;         // then everything else is empty
  std::optional<Error> failed;  // the run's own error; then everything else is empty
  RunFigure figure;
  std::string digest;
  std::string verdict;
  compare::RunSummary summary;
  Rerun rerun;
};

struct RunWish {
  int cores = 0;  // 0: all
  bool digest = false;
  std::string keep;  // a file for the run's trace, if it succeeds; empty: none
  std::function<bool()>
      stop_requested;  // asked 20 times a second, also while waiting; may be empty
  // Called once a second by the calling thread: is it still waiting for another measurement on this
  // host, or running? May be empty.
  std::function<void(bool waiting)> tell;
  bool probe = false;  // check what bounds it by slowing stages
};

inline constexpr const char* kWaitingForTurn =
    "waiting for another measurement on this host to end";

// One thread.
class Bench {
 public:
  virtual ~Bench() = default;
  // One run of this configuration. An error is the bench's: no other configuration can be run
  // either. A run that fails is an outcome.
  virtual Result<Outcome> Measure(const Spec& spec, const RunWish& wish) = 0;
};

// What the trace of a run shows. An error where it has no throughput.
Result<Outcome> OutcomeOf(Rerun rerun);

// Runs for real, one at a time on this host.
class LiveBench final : public Bench {
 public:
  // Options that RunWish also has are taken from each call.
  explicit LiveBench(RerunOptions options) : options_(std::move(options)) {}
  Result<Outcome> Measure(const Spec& spec, const RunWish& wish) override;

 private:
  const RerunOptions options_;
};

}  // namespace stallscope::replay
