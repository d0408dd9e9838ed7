// What the devices of a job did in the steps that no profiler saw, by those that one did. Any
// thread.
#pragma once

#include <vector>

#include "analyzer/attribution/partition.h"

namespace stallscope::attribution {

struct SeenSteps {
  const Window& window;     // of steps that a profiler recorded
  const Activity& issued;   // what they gave the device to do, whenever it did that
  const Intervals& beside;  // when the trainer did something else, in the whole run
};

// Rewrites the `activity` of a device in the steps of its rank beside which no profiler was open.
// In each of them it works as long as on what a seen one issued, on average; a wait for a batch is
// a stall as far as that leaves time, so its end is; the trainer's launches and the rest share what
// remains, as in the seen steps. What it did beside its steps counts as nothing else. Lengths are
// exact, places within a step are not.
void FillUnseen(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                const SeenSteps& seen, Activity& activity);

}  // namespace stallscope::attribution
