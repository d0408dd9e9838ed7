#include "collectors/device/device_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace stallscope::device {

Status DeviceMemory::Take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (limit_ != 0 && bytes > limit_ - std::min(limit_, use_.used)) {
    return Error{ErrorKind::kRun,
                 fmt::format("out of device memory: {} bytes asked for, {} of {} in use", bytes,
                             use_.used, limit_),
                 device_, "make the batch or the model smaller, or prefetch fewer batches"};
  }
  use_.used += bytes;
  use_.peak = std::max(use_.peak, use_.used);
  return {};
}

void DeviceMemory::GiveBack(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  use_.used -= bytes;
}

MemoryUse DeviceMemory::use() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return use_;
}

}  // namespace stallscope::device
