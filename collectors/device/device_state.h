// State that every backend keeps beside its streams: the first error, memory in use, pinned memory,
// the clock. Locks inside; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "collectors/device/device.h"

namespace stallscope::device {

// On a 64-byte boundary; null if out of memory. Free it with std::free.
void* AllocateAligned(size_t bytes) noexcept;

// The first error of a device; it stays.
class DeviceFailure {
 public:
  void Set(Error error);
  bool set() const { return set_.load(std::memory_order_acquire); }
  Status status() const;

 private:
  std::atomic<bool> set_{false};
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// How much of a device's memory is in use.
class DeviceMemory {
 public:
  DeviceMemory(std::string device, uint64_t limit) : device_(std::move(device)), limit_(limit) {}

  // Reserves `bytes` of the limit; the error says how much is left.
  Status Take(size_t bytes);
  void GiveBack(size_t bytes);
  MemoryUse use() const;

 private:
  const std::string device_;
  const uint64_t limit_;  // 0: none
  mutable std::mutex mutex_;
  MemoryUse use_;
};

// Host memory that is pinned. As with a driver's portable pinned memory, what one device has pinned
// is pinned for every device of the run: they share one of these. Whoever allocates frees.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  uint8_t* Allocate(size_t bytes) noexcept;
  void Free(uint8_t* block) noexcept;
  // Whether all of it is in one pinned block.
  bool Contains(const void* host, size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;
};

// The time that an emulated device runs on: the machine's, or a test's.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual Ticks Now() = 0;
  // Returns at that time or later, without using CPU.
  virtual void WaitUntil(Ticks time) = 0;
  virtual double TicksPerNs() const = 0;

  // The ticks that so many nanoseconds take, rounded to the nearest.
  Ticks ToTicks(double ns) const { return static_cast<Ticks>(ns * TicksPerNs() + 0.5); }
};

// The first one measures the tick rate, which takes 20 ms.
class MachineClock : public DeviceClock {
 public:
  MachineClock();
  Ticks Now() override { return NowTicks(); }
  void WaitUntil(Ticks time) override;
  double TicksPerNs() const override { return ticks_per_ns_; }

 private:
  double ticks_per_ns_ = 1;
};

}  // namespace stallscope::device
