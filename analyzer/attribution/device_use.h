// What the devices did: copies, kernels, and what they waited for. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analyzer/attribution/partition.h"

namespace stallscope::attribution {

// Of the whole trace.
std::vector<DeviceUse> UseOfDevices(const model::Run& run);
// Of the window, largest first.
std::vector<KernelUse> UseOfKernels(const model::Run& run, const Window& window);
// Of all kernels, those that compute values one by one right behind another such one on the same
// stream: what a compiler could fuse, as far as they use each other's results.
double ShareOfElementwiseNeighbors(const model::Run& run);
// Of `devices` that compute the same model; nothing for an emulated one, which computes nothing.
std::optional<Arithmetic> ArithmeticOf(const model::Run& run, const Window& window,
                                       const PerCategory<std::optional<CategoryTotal>>& breakdown,
                                       size_t devices);
DeviceIdle IdleOfDevices(const model::Run& run, const Window& window, const Partition& partition);

}  // namespace stallscope::attribution
