#include "collectors/device/device_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace stallscope::device {
namespace {

// Two readings that are 100 ns off: 10 ppm. Once per process; a static initializer would be free,
// but might run before the one that determines what a tick is.
double MeasureTicksPerNs() {
  if (!TicksAreTsc()) return 1;
  ClockMap map;
  map.Add(ReadClockAnchor());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  map.Add(ReadClockAnchor());
  return map.TicksPerSecond() / 1e9;
}

}  // namespace

void* AllocateAligned(size_t bytes) noexcept {
  constexpr size_t kAlignment = 64;
  return std::aligned_alloc(
      kAlignment, std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
}

void DeviceFailure::Set(Error error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!error_) error_ = std::move(error);
  set_.store(true, std::memory_order_release);
}

Status DeviceFailure::status() const {
  if (!set()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return *error_;
}

Status DeviceMemory::Take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (limit_ != 0 && bytes > limit_ - std::min(limit_, use_.used)) {
    return Error{ErrorKind::kRun,
                 fmt::format("out of device memory: {} bytes requested, {} of {} in use", bytes,
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

PinnedMemory::~PinnedMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(reinterpret_cast<void*>(address));
}

uint8_t* PinnedMemory::Allocate(size_t bytes) noexcept {
  auto* block = static_cast<uint8_t*>(AllocateAligned(bytes));
  if (block == nullptr) return nullptr;
  // Pinned memory is resident from the start: its pages are faulted in here, not in the first
  // batch.
  std::memset(block, 0, bytes);
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[reinterpret_cast<uintptr_t>(block)] = bytes;
  } catch (const std::bad_alloc&) {
    std::free(block);
    return nullptr;
  }
  return block;
}

void PinnedMemory::Free(uint8_t* block) noexcept {
  if (block == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(block));
  }
  std::free(block);
}

bool PinnedMemory::Contains(const void* host, size_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(host);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second;
}

MachineClock::MachineClock() {
  static const double measured = MeasureTicksPerNs();
  ticks_per_ns_ = measured;
}

void MachineClock::WaitUntil(Ticks time) {
  // A condition variable that nobody signals: its deadline is absolute, so a signal handler that
  // interrupts the wait does not lengthen it.
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  for (Ticks now = Now(); now < time; now = Now()) {
    const double ns = std::max(1.0, static_cast<double>(time - now) / ticks_per_ns_);
    never.wait_until(lock, std::chrono::steady_clock::now() +
                               std::chrono::nanoseconds(static_cast<int64_t>(ns)));
  }
}

}  // namespace stallscope::device
