// Ops whose cost their call says: busy and sleep. For the rooms that predict; any thread.
#ifndef STALLSCOPE_REPLAY_WORKLOAD_KNOWN_OPS_H_
#define STALLSCOPE_REPLAY_WORKLOAD_KNOWN_OPS_H_

#include <optional>
#include <string>
#include <vector>

#include "replay/workload/workload.h"

namespace stallscope::replay {

// What an element needs more once `now` is done instead of `before`; negative where it is less.
// Nothing where that is unknown: another op is added, removed or changed.
std::optional<Cost> KnownDifference(const std::vector<std::string>& before,
                                    const std::vector<std::string>& now);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_WORKLOAD_KNOWN_OPS_H_
