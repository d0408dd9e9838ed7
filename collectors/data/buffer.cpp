#include "collectors/data/buffer.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace stallscope::data {
namespace {

// More than any machine has: an absurd length from a file is refused before it is requested.
constexpr size_t kMostBytes = size_t{1} << 39;

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(other.memory_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

Buffer::Buffer(const Buffer& other) { Append(other.view()); }

Buffer& Buffer::operator=(const Buffer& other) {
  if (this != &other) {
    Clear();
    Append(other.view());
  }
  return *this;
}

Buffer::~Buffer() { Release(); }

void Buffer::Release() {
  if (memory_ == nullptr) {
    std::free(data_);
  } else if (data_ != nullptr) {
    memory_->Free(data_, capacity_);
  }
}

// Exactly what is asked for, rounded up to the alignment: only Append doubles, and an image's
// buffer should not be twice the image.
bool Buffer::Grow(size_t capacity) {
  if (capacity > kMostBytes) return false;
  const size_t rounded = (capacity + kAlignment - 1) / kAlignment * kAlignment;
  auto* fresh = memory_ == nullptr ? static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded))
                                   : memory_->Allocate(rounded);
  if (fresh == nullptr) return false;
  if (size_ > 0) std::memcpy(fresh, data_, size_);
  Release();
  data_ = fresh;
  capacity_ = rounded;
  return true;
}

bool Buffer::TryReserve(size_t capacity) { return capacity <= capacity_ || Grow(capacity); }

bool Buffer::TryResize(size_t size) {
  if (!TryReserve(size)) return false;
  size_ = size;
  return true;
}

void Buffer::Resize(size_t size) {
  if (!TryResize(size)) throw std::bad_alloc();
}

void Buffer::Append(ByteView bytes) {
  if (bytes.empty()) return;
  const size_t needed = size_ + bytes.size();
  if (needed > capacity_) {
    // The old block must live until its own bytes have been copied out of it.
    Buffer grown(memory_);
    if (!grown.Grow(std::max(needed, capacity_ * 2))) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(grown.data_, data_, size_);
    std::memcpy(grown.data_ + size_, bytes.data(), bytes.size());
    grown.size_ = needed;
    *this = std::move(grown);
    return;
  }
  std::memmove(data_ + size_, bytes.data(), bytes.size());
  size_ = needed;
}

uint32_t Crc32c(ByteView bytes, uint32_t crc) {
  // isa-l works on the raw register (CRC32C inverts it at both ends), and counts in int.
  constexpr size_t kPiece = size_t{1} << 30;
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kPiece);
    state = crc32_iscsi(const_cast<uint8_t*>(bytes.data()), static_cast<int>(size), state);
    bytes = bytes.subspan(size);
  }
  return ~state;
}

}  // namespace stallscope::data
