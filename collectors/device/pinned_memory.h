// Host memory that is pinned. As with a driver's portable pinned memory, what one device has pinned
// is pinned for every device of the run: they share one of these. Any thread; whoever allocates
// gives back.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_PINNED_MEMORY_H_
#define STALLSCOPE_COLLECTORS_DEVICE_PINNED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace stallscope::device {

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

#endif  // STALLSCOPE_COLLECTORS_DEVICE_PINNED_MEMORY_H_
