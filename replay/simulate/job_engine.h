// One simulated run of a job: a data loader's worker processes, and the loop that trains. Private
// to the room; one thread.
//
// As torch.utils.data.DataLoader does it: the main process chooses indices and puts them into one
// queue per worker, in turn, `ahead` for each; a worker fetches and collates, its feeder thread
// serialises and sends; the main process (or its pinning thread) receives, hands out the batch
// whose turn it is, and only then chooses the indices of another one.
#pragma once

#include <cstdint>

#include "replay/simulate/engine.h"
#include "replay/workload/job_costs.h"

namespace stallscope::replay {

struct JobSetup {
  const JobCosts* costs = nullptr;  // must outlive the run
  uint32_t workers = 0;             // 0: the main process fetches
  uint32_t ahead = 2;
  bool in_order = true;
  bool persistent = false;
  bool pins = false;  // in its own thread, if the loader has workers
  uint32_t math_threads = 1;
  double cores = 1;
  double fetch_scale = 1;    // of all that a batch costs before it is handed out
  double step_scale = 1;     // of a step's own cost
  double samples_scale = 1;  // samples of a batch, over the recorded ones
  double step_extra_ns = 0;
  WorkerStart start;
  // What handing a batch over takes besides what was recorded, and what a step on it does.
  Cost more_send;
  Cost more_receive;
  Cost more_pin;
  double more_step_ns = 0;      // added to each step; may be negative
  double evaluation_scale = 1;  // factor for the evaluation time between steps
};

// `seed` 1 takes the recorded costs from their beginning, another one from somewhere.
SimulatedRun RunJob(const JobSetup& setup, uint64_t seed, uint64_t steps);

}  // namespace stallscope::replay
