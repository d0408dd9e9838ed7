// Locks of files that a job's workers share, as their ops show them. Pure.
#pragma once

#include <string_view>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

// An op that takes a lock of a file ("fcntl.flock"), which lets one process in at a time.
bool TakesFileLock(std::string_view op);
// The part of a stage's work that waits in such ops.
double InFileLocks(const StageUse& use);

}  // namespace stallscope::attribution
