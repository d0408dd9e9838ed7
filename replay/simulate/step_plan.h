// What the trainer does with a batch once it arrives. Private to the room; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/workload/op_change.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct StepPlan {
  double convert_ns = 0;
  double copy_ns = 0;        // on the link
  bool copy_blocks = false;  // the thread that asked for it: pageable memory
  double issue_cpu_ns = 0;
  double issue_wait_ns = 0;                    // the device's price of a launch
  double last_kernel_ns = 0;                   // cannot begin before it is launched
  const std::vector<Cost>* compute = nullptr;  // of a step on the device, as cpu_ns
  double compute_scale = 1;
  double compute_ns = 0;      // besides, or instead
  unsigned host_threads = 0;  // that compute; 0: an accelerator does
  uint64_t in_flight = 0;     // steps that may be on the device while the next batch is asked for
  uint64_t device_prefetch = 0;
  double extra_ns = 0;  // extra, on the trainer's thread, per step
  double turn_ns = 0;   // until it continues after sleeping for the device
  double samples = 1;
};

// Points into the workload.
StepPlan StepPlanOf(const Workload& workload, Ends ends = Ends::kMiddle);

}  // namespace stallscope::replay
