#include "collectors/trainer/pinned_buffers.h"

#include <new>

namespace stallscope::trainer {

PinnedBuffers::~PinnedBuffers() {
  for (const auto& [bytes, blocks] : spare_) {
    for (uint8_t* block : blocks) device_.FreePinned(block, bytes);
  }
}

uint8_t* PinnedBuffers::Allocate(size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = spare_.find(bytes);
    if (found != spare_.end() && !found->second.empty()) {
      uint8_t* block = found->second.back();
      found->second.pop_back();
      return block;
    }
  }
  return device_.AllocatePinned(bytes);
}

void PinnedBuffers::Free(uint8_t* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& blocks = spare_[bytes];
    if (blocks.size() < kSpare) {
      blocks.push_back(block);
      return;
    }
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
  device_.FreePinned(block, bytes);
}

}  // namespace stallscope::trainer
