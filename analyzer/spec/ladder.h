// Numbers that are worth trying for a setting: what a report names, a tuner tries and a search
// takes all come from here, so that they agree. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace stallscope {

// From the first to the last of these, which differ by a third or more beyond the first few.
std::vector<int64_t> Ladder(int64_t from, int64_t to);

// Numbers of worker processes of a loader on so many cores, from none: more than cores, because
// some wait; not many more, because a process costs memory and its start.
std::vector<int64_t> WorkersToTry(int64_t cores);

// Two simulated rates of a job within this factor are alike, and the smaller change is taken: a
// doubling of its processes is in doubt by as much.
inline constexpr double kAlike = 1.03;

}  // namespace stallscope
