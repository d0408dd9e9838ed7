// The window's figures with their intervals. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/attribution/partition.h"
#include "analyzer/base/math.h"

namespace stallscope::attribution {

// sum(over) / sum(of) with its 95% interval: the jackknife over at most 20 blocks of neighboring
// steps, because neighboring steps are alike.
stallscope::Interval RatioInterval(const std::vector<double>& over, const std::vector<double>& of);

PerCategory<std::optional<CategoryTotal>> Breakdown(const Partition& partition,
                                                    const Window& window);
// Widens the intervals of a window of other steps by how much these, the profiled ones, vary.
void WidenAsProfiled(const Partition& seen, PerCategory<std::optional<CategoryTotal>>& breakdown);
// Throughput of these steps of all ranks, which took `ns` together; `count` of them are distinct.
std::optional<Throughput> ThroughputOf(const std::vector<StepShare>& steps, size_t count,
                                       int64_t ns);
std::optional<Quantiles> StepTimes(const std::vector<StepShare>& steps);

// Steps a second of one rank, with a 95 % interval by the steps' variation: the unit that is left
// if a trace does not show how many samples a step has. Nothing without steps.
std::optional<Throughput> StepRate(const Attribution& attribution);

// The share of what the run read that came from the disk; the page cache had the rest.
double ShareFromDisk(const CpuUse& use);

}  // namespace stallscope::attribution
