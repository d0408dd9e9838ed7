// Works on a sweep until every configuration has its figures, it is stopped, or other processes
// hold all that is left.
//
// First it predicts everything, on several threads. What one recording cannot show then gets a
// short probe run. Then come the runs: one of each configuration, then the second of each, so that
// a drifting machine affects all alike. Each result is on disk before the next task starts. One
// thread calls; several processes may work on one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "replay/sweep/bench.h"
#include "replay/sweep/predictor.h"
#include "replay/sweep/sweep.h"
#include "replay/sweep/sweep_file.h"

namespace stallscope::replay {

enum class SweepPhase : uint8_t { kPredictions, kProbeRuns, kRuns };
std::string_view WordFor(SweepPhase phase);  // "predictions", "probe runs", "runs"

// Of the phase: predictions, configurations to probe, or runs.
struct SweepProgress {
  SweepPhase phase = SweepPhase::kPredictions;
  size_t done = 0;
  size_t total = 0;
  std::string now;  // the running configuration, or kWaitingForTurn; empty for predictions
};

struct SweepWork {
  SweepFileOptions file;
  Spec spec;            // that is run, with the points' changes
  Spec predicted_spec;  // that is predicted: the recorded one, also where `spec` emulates it
  Predictor* predictor = nullptr;  // null: nothing is predicted (SweepMode::kRerun)
  Bench* bench = nullptr;          // null: nothing is run (SweepMode::kSimulate)
  unsigned threads = 2;
  std::function<bool()> stop_requested;                // may be empty
  std::function<void(const SweepProgress&)> progress;  // may be empty; this thread's
};

// What the file has at the end. A configuration that fails keeps its error, and the others
// continue. An error here is the sweep's own (the disk, the lock, the bench) and changes no point:
// a resumed sweep continues from the finished ones.
Result<Sweep> RunSweep(const Sweep& planned, const SweepWork& work);

}  // namespace stallscope::replay
