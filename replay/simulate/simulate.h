// Runs a workload on a model of the machine: how fast it would be, and how certain that is.
//
// Discrete events; ../METHOD.md has the model. The same workload and options give the same bits, on
// every machine and for any number of threads. Any thread; nothing is shared between calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/workload/workload.h"

namespace stallscope::replay {

struct SimulateOptions {
  uint64_t seed = 1;
  uint64_t batches = 0;    // of each repetition; 0: as many as the spec's run has, within bounds
  unsigned resamples = 4;  // repetitions with other draws from the recorded costs
  // 0: no bound. A repetition ends after so many elements, or 32 batches if that is later and they
  // are not larger than a sixteenth of it.
  uint64_t most_elements = 60'000;
};

struct StageUtilization {
  std::string stage;
  double utilization = 0;  // busy / (workers x time)
  double workers = 1;
};

struct Prediction {
  double samples_per_s = 0;
  double low = 0;  // 90% for the mean of one new run
  double high = 0;
  double input_stall = 0;                // share of the step time
  uint64_t memory_bytes = 0;             // peak resident memory; 0 if the run does not show it
  std::vector<StageUtilization> stages;  // in the spec's order, the trainer last
  std::string bottleneck;                // the stage, "trainer", or "cores"
  uint64_t events = 0;
};

// `workload` should be calibrated: otherwise the prediction is the uncorrected model's. A spec that
// no pipeline can run has a throughput of 0; BuildWorkload and WithSpec return none.
Prediction Simulate(const Workload& workload, const SimulateOptions& options = {});

// Finds the corrections that make the simulation of the recorded spec give the measured throughput.
// Call it once after BuildWorkload; changes keep them.
Workload Calibrate(Workload workload, const SimulateOptions& options = {});

}  // namespace stallscope::replay
