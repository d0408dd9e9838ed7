// A device's pinned memory as memory for batches. Pinning is slow, so blocks are used again.
//
// Any thread. The device must outlive it, and it every buffer.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_PINNED_BUFFERS_H_
#define STALLSCOPE_COLLECTORS_TRAINER_PINNED_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "collectors/data/buffer.h"
#include "collectors/device/device.h"

namespace stallscope::trainer {

class PinnedBuffers : public data::BufferMemory {
 public:
  explicit PinnedBuffers(device::Device& device) : device_(device) {}
  ~PinnedBuffers() override;
  PinnedBuffers(const PinnedBuffers&) = delete;
  PinnedBuffers& operator=(const PinnedBuffers&) = delete;

  uint8_t* Allocate(size_t bytes) noexcept override;
  void Free(uint8_t* block, size_t bytes) noexcept override;

 private:
  static constexpr size_t kSpare = 8;  // of a size

  device::Device& device_;
  std::mutex mutex_;
  std::map<size_t, std::vector<uint8_t*>> spare_;  // by size
};

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_PINNED_BUFFERS_H_
