// The step partition: each instant of each device in exactly one category. Any thread.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/intervals.h"

namespace stallscope::attribution {

// A kernel that moves data between devices: a collective, of any library.
bool IsCommunication(std::string_view kernel);

// False for the stages of a loader that a job only evaluates with, between its steps.
bool FeedsSteps(const model::Run& run, StageId stage);

// What a device does by itself; in the others it is its host that does something, or nobody.
inline constexpr std::array kDeviceWork = {Category::kCompute, Category::kCommunication,
                                           Category::kTransfer};

// What a device and its host were doing: one table per category, in any order, overlapping.
using Activity = PerCategory<Intervals>;

// The window's instants, each in the first category that is active; kOther if none is.
std::vector<Slice> Sweep(Activity activity, Interval window);

struct Partition {
  std::vector<DeviceTimeline> timelines;
  std::vector<StepShare> steps;
  PerCategory<int64_t> ns{};  // the devices' mean; adds up to the window
  PerCategory<bool> known{};  // false: the trace cannot tell
  std::vector<std::string> limits;
};

Partition PartitionWindow(const model::Run& run, const Window& window,
                          const std::vector<model::StepInterval>& intervals);

// The mean of whole numbers that add up to `devices` times the same sum: rounded down, the
// remainder given to the first that lost some.
PerCategory<int64_t> MeanOf(const PerCategory<int64_t>& sum, int64_t devices);

}  // namespace stallscope::attribution
