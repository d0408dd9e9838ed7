// How full each queue was over time. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_QUEUE_USE_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_QUEUE_USE_H_

#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

// Depth over time of each queue in the window, by queue.
std::vector<QueueUse> UseOfQueues(const model::Run& run, const Window& window, unsigned threads);

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_QUEUE_USE_H_
