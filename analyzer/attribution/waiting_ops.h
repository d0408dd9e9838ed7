// Ops in which a job's loader waits for what it shares with others: locks of files, and pools of
// the job's own. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

// How an op begins that is a wait for what a pool of the job's own runs; that has the rest as name.
constexpr std::string_view kWaitsForPool = "waiting for ";

// An op that takes a lock of a file ("fcntl.flock"), which lets one process in at a time.
bool TakesFileLock(std::string_view op);
// The part of a stage's work that waits in such ops.
double InFileLocks(const StageUse& use);
// True if most of this work of a loader's is waiting for pools of the job's own. Such a pool does
// not work in a process that is forked later, and what its threads or processes burn is not
// recorded.
bool IsLeftToPools(const std::vector<StageUse>& stages, const std::vector<StageId>& work);

}  // namespace stallscope::attribution
