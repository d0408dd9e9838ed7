#include "collectors/device/pinned_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stallscope::device {
namespace {

constexpr size_t kAlignment = 64;

size_t Rounded(size_t bytes) {
  return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

PinnedMemory::~PinnedMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(reinterpret_cast<void*>(address));
}

uint8_t* PinnedMemory::Allocate(size_t bytes) noexcept {
  auto* block = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, Rounded(bytes)));
  if (block == nullptr) return nullptr;
  // Pinned memory is there from the start: its pages are faulted in here, not in the first batch.
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

}  // namespace stallscope::device
