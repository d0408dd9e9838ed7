// What of a device's memory is taken, and which host memory is pinned. Inside this room; locks
// inside.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_
#define STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
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

class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  uint8_t* Allocate(size_t bytes) noexcept;
  void Free(uint8_t* block) noexcept;
  // Whether all of it lies in one pinned block.
  bool Contains(const void* host, size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_DEVICE_MEMORY_H_
