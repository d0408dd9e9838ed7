// One simulated run of a network. Private to the room; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/simulate/chain.h"
#include "replay/simulate/network.h"

namespace stallscope::replay {

struct SimulatedStep {
  double requested_ns = 0;
  double received_ns = 0;
  double done_ns = 0;         // on the device
  double waits_after_ns = 0;  // in a job, for workers that end and start between two steps
};

struct SimulatedRun {
  std::vector<SimulatedStep> steps;
  std::vector<StageTally> stages;  // of the spec, then the trainer
  double cpu_ns = 0;               // burned by all
  double waited_ns = 0;            // by all, for a core
  double end_ns = 0;
  uint64_t events = 0;
};

// `seed` chooses from the recorded costs. The network must have been made for this many batches.
SimulatedRun Run(const Network& network, uint64_t seed, uint64_t batches);

}  // namespace stallscope::replay
