// Bytes that begin on a 64-byte boundary, and grow; and their CRC32C.
//
// Every buffer that image or record data is copied into is one of these: a copy into a block at
// page + 16, where malloc puts large ones, runs at a twentieth of the speed. What Resize adds is
// not set to zero. A Buffer owns its bytes; it keeps its capacity for life, so that a reader
// allocates once. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace stallscope::data {

using ByteView = std::span<const uint8_t>;

inline ByteView AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A source of buffers other than the heap: a device's pinned memory. Any thread.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  // On a 64-byte boundary; null where there is none left.
  virtual uint8_t* Allocate(size_t bytes) noexcept = 0;
  virtual void Free(uint8_t* block, size_t bytes) noexcept = 0;
};

// A value in the machine's own byte order.
template <class T>
T ValueAt(ByteView bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  Buffer() = default;
  // `memory` must outlive the buffer; null is the heap. Copies of it are in the heap.
  explicit Buffer(BufferMemory* memory) : memory_(memory) {}
  explicit Buffer(size_t size) { Resize(size); }
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer& other);
  Buffer& operator=(const Buffer& other);
  ~Buffer();

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  ByteView view() const { return {data_, size_}; }
  operator ByteView() const { return view(); }  // NOLINT(google-explicit-constructor)

  // Throw std::bad_alloc as a std::vector does: for sizes that this program chose.
  void Resize(size_t size);
  void Append(ByteView bytes);  // may be a part of this buffer
  // False if out of memory: for sizes that a file asks for. Keeps the content.
  [[nodiscard]] bool TryReserve(size_t capacity);
  [[nodiscard]] bool TryResize(size_t size);
  void Clear() { size_ = 0; }

 private:
  [[nodiscard]] bool Grow(size_t capacity);
  void Release();

  BufferMemory* memory_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// isa-l picks the instructions that the machine has. `crc` continues an earlier one.
uint32_t Crc32c(ByteView bytes, uint32_t crc = 0);

// Rotated and shifted, as TFRecord wants it, so that a CRC over data that contains CRCs stays
// strong.
constexpr uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace stallscope::data
