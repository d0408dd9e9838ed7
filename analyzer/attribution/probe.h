// The causal check: what the throughput lost while a recording slowed one stage at a time.
//
// The blame infers causes from recorded waits; this check asks the run itself. A stage that bounds
// it has a sensitivity near -1: twice the time per element, half the throughput. One with time to
// spare has 0. Several stages may share the -1. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

// From the first window to the last one; nothing if no stage was slowed.
std::optional<model::TimeRange> ProbedRange(const model::Run& run);

// Sorted by stage id; only stages that have a window with steps. Empty for several ranks.
std::vector<Sensitivity> SensitivitiesOf(const model::Run& run);

}  // namespace stallscope::attribution
