// What the machine had to give, and what the run took of it. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_SYSTEM_USE_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_SYSTEM_USE_H_

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/thread_rates.h"

namespace stallscope::attribution {

CpuUse UseOfCpu(const model::Run& run, const CounterRates& counters);
// Needs the stages with their queues filled in.
MemoryUse UseOfMemory(const model::Run& run, const CounterRates& counters,
                      const std::vector<StageUse>& stages);

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_SYSTEM_USE_H_
