// Ops whose call states their cost: busy and sleep. For the rooms that predict; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/workload/workload.h"

namespace stallscope::replay {

// The extra cost of an element if `now` is done instead of `before`; negative if it is less.
// Nothing where that is unknown: another op is added, removed or changed.
std::optional<Cost> KnownDifference(const std::vector<std::string>& before,
                                    const std::vector<std::string>& now);

}  // namespace stallscope::replay
