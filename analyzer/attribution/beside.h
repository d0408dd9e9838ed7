// What the trainer did beside its steps: evaluation and checkpoints, by the names that the
// recording gives them. It is no wait for a batch, wherever in a step it is. Any thread.
#pragma once

#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/intervals.h"

namespace stallscope::attribution {

// In the window, largest first; of one name that runs in several threads at once, its time counts
// once.
std::vector<BesideUse> BesideSteps(const model::Run& run, const Window& window);
// When this rank's did any of that, in the whole run.
Intervals TimesBesideSteps(const model::Run& run, uint32_t rank);

}  // namespace stallscope::attribution
