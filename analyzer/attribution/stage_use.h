// What each stage did in the window, how full its queue was, and what it could deliver. Any thread.
#pragma once

#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/stage_work.h"

namespace stallscope::attribution {

// By stage: it cannot be parallelized as it is, by its kind or by its source's format.
std::vector<bool> SerialStages(const model::Run& run);

// `cores`: what the run could use. `samples`: how many were trained on in the window, and
// `stall_ns` how long the trainer waited for them.
std::vector<StageUse> UseOfStages(const model::Run& run, const Window& window,
                                  const std::vector<TrackView>& views, const SpanTotals& totals,
                                  const WorkSplit& split, const std::vector<bool>& serial,
                                  uint64_t samples, int64_t stall_ns, double cores);

// The stage with the least capacity, or if several share threads, the one that needs most of the
// threads with the least; compared with the stage that is blamed most.
CrossCheck CheckAgainstCapacity(const model::Run& run, const std::vector<StageUse>& stages,
                                const std::vector<Blame>& blame);

// Depth over time of each queue in the window, by queue.
std::vector<QueueUse> UseOfQueues(const model::Run& run, const Window& window, unsigned threads);

// Sets each stage's queue, and `passed`.
void SetQueues(const model::Run& run, const std::vector<QueueUse>& queues,
               std::vector<StageUse>& stages);

}  // namespace stallscope::attribution
