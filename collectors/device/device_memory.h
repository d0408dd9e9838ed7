// What of a device's memory is taken. Inside this room; locks inside.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_
#define STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "analyzer/base/result.h"
#include "collectors/device/device.h"

namespace stallscope::device {

class DeviceMemory {
 public:
  DeviceMemory(std::string device, uint64_t limit) : device_(std::move(device)), limit_(limit) {}

  // Takes `bytes` of the limit, or says how much is left.
  Status Take(size_t bytes);
  void GiveBack(size_t bytes);
  MemoryUse use() const;

 private:
  const std::string device_;
  const uint64_t limit_;  // 0: none
  mutable std::mutex mutex_;
  MemoryUse use_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_
