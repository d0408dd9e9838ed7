// A dense array: what an element is once it is decoded; and its conversion to another dtype.
//
// Row-major, innermost dimension last; images are height x width x 3, RGB. The tensor owns its
// bytes, which begin on a 64-byte boundary. Plain data: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

// The values are stored in raw tensor files: never change one.
enum class DType : uint8_t {
  kUint8 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kFloat16 = 4,
  kBfloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
};

size_t SizeOf(DType dtype);
std::string_view Name(DType dtype);  // "uint8"
std::optional<DType> DTypeNamed(std::string_view name);

class Shape {
 public:
  static constexpr size_t kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  static Shape Of(std::span<const int64_t> dims);  // at most kMaxRank of them

  size_t rank() const { return rank_; }
  int64_t operator[](size_t axis) const { return dims_[axis]; }
  std::span<const int64_t> dims() const { return {dims_.data(), rank_}; }
  int64_t Elements() const;      // 1 for a scalar; the dimensions must have been checked
  std::string ToString() const;  // "375x500x3"
  bool operator==(const Shape& other) const = default;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  size_t rank_ = 0;
};

// Bytes of such a tensor; nothing where a dimension is negative or the product is past 2^62.
std::optional<uint64_t> CheckedBytes(DType dtype, std::span<const int64_t> dims);

class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, const Shape& shape) { Reset(dtype, shape); }
  explicit Tensor(BufferMemory* memory) : buffer_(memory) {}

  // Sets dtype and shape; the bytes are undefined. Reuses the memory where it fits.
  void Reset(DType dtype, const Shape& shape);
  [[nodiscard]] bool TryReset(DType dtype, const Shape& shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t bytes() const { return buffer_.size(); }
  size_t capacity() const { return buffer_.capacity(); }  // in bytes
  uint8_t* data() { return buffer_.data(); }
  const uint8_t* data() const { return buffer_.data(); }
  ByteView view() const { return buffer_.view(); }
  // T must be the type that dtype() names.
  template <class T>
  std::span<T> Values() {
    return {reinterpret_cast<T*>(buffer_.data()), buffer_.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> Values() const {
    return {reinterpret_cast<const T*>(buffer_.data()), buffer_.size() / sizeof(T)};
  }

 private:
  DType dtype_ = DType::kUint8;
  Shape shape_;
  Buffer buffer_;
};

// Converts `count` values; the two places must not overlap. To uint8, values are rounded to the
// nearest and clamped to 0 to 255. False where there is no conversion between the two dtypes.
bool ConvertValues(DType from_dtype, const uint8_t* from, DType to_dtype, uint8_t* to,
                   int64_t count);

// Gives `into`, another tensor, the shape of `from` and that dtype.
Status Convert(const Tensor& from, DType dtype, Tensor& into);

}  // namespace stallscope::data
