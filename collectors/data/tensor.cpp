#include "collectors/data/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <new>

#include "analyzer/base/narrow_float.h"

namespace stallscope::data {
namespace {

struct DTypeRow {
  DType dtype;
  size_t size;
  std::string_view name;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kUint8, 1, "uint8"},       {DType::kInt32, 4, "int32"},
    {DType::kInt64, 8, "int64"},       {DType::kFloat16, 2, "float16"},
    {DType::kBfloat16, 2, "bfloat16"}, {DType::kFloat32, 4, "float32"},
    {DType::kFloat64, 8, "float64"},
};

const DTypeRow& RowOf(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row;
  }
  assert(false && "no such dtype");
  return kDTypes[0];
}

struct Uint8Type {
  using Stored = uint8_t;
  static float Load(uint8_t value) { return value; }
  static uint8_t Store(float value) {
    // A comparison with NaN is false, so NaN becomes 0.
    return value > 0 ? static_cast<uint8_t>(std::min(std::nearbyint(value), 255.0F)) : uint8_t{0};
  }
};
struct HalfType {
  using Stored = uint16_t;
  static float Load(uint16_t value) { return FromFloat16(value); }
  static uint16_t Store(float value) { return ToFloat16(value); }
};
struct BfloatType {
  using Stored = uint16_t;
  static float Load(uint16_t value) { return FromBfloat16(value); }
  static uint16_t Store(float value) { return ToBfloat16(value); }
};
struct FloatType {
  using Stored = float;
  static float Load(float value) { return value; }
  static float Store(float value) { return value; }
};

// Read only: no op or link needs to write these.
template <class Value>
struct WideType {
  using Stored = Value;
  static float Load(Value value) { return static_cast<float>(value); }
};

template <class From, class To>
void Loop(const uint8_t* from, uint8_t* to, int64_t count) {
  const auto* source = reinterpret_cast<const typename From::Stored*>(from);
  auto* target = reinterpret_cast<typename To::Stored*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = To::Store(From::Load(source[i]));
}

// Calls visit with the type for the dtype.
template <class Visit>
bool WithTarget(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kUint8:
      visit(Uint8Type());
      return true;
    case DType::kFloat16:
      visit(HalfType());
      return true;
    case DType::kBfloat16:
      visit(BfloatType());
      return true;
    case DType::kFloat32:
      visit(FloatType());
      return true;
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat64:
      return false;
  }
  return false;
}

template <class Visit>
bool WithSource(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kInt32:
      visit(WideType<int32_t>());
      return true;
    case DType::kInt64:
      visit(WideType<int64_t>());
      return true;
    case DType::kFloat64:
      visit(WideType<double>());
      return true;
    default:
      return WithTarget(dtype, visit);
  }
}

}  // namespace

size_t SizeOf(DType dtype) { return RowOf(dtype).size; }
std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> DTypeNamed(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

Shape::Shape(std::initializer_list<int64_t> dims) {
  assert(dims.size() <= kMaxRank);
  rank_ = dims.size();
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

Shape Shape::Of(std::span<const int64_t> dims) {
  assert(dims.size() <= kMaxRank);
  Shape shape;
  shape.rank_ = dims.size();
  std::copy(dims.begin(), dims.end(), shape.dims_.begin());
  return shape;
}

int64_t Shape::Elements() const {
  int64_t product = 1;
  for (const int64_t dim : dims()) product *= dim;
  return product;
}

std::string Shape::ToString() const {
  if (rank_ == 0) return "scalar";
  std::string text;
  for (const int64_t dim : dims()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

std::optional<uint64_t> CheckedBytes(DType dtype, std::span<const int64_t> dims) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  uint64_t bytes = SizeOf(dtype);
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim > 0 && bytes > kMost / static_cast<uint64_t>(dim)) return std::nullopt;
    bytes *= static_cast<uint64_t>(dim);
  }
  return bytes;
}

bool Tensor::TryReset(DType dtype, const Shape& shape) {
  const auto size = CheckedBytes(dtype, shape.dims());
  if (!size.has_value() || !buffer_.TryResize(static_cast<size_t>(*size))) return false;
  dtype_ = dtype;
  shape_ = shape;
  return true;
}

void Tensor::Reset(DType dtype, const Shape& shape) {
  if (!TryReset(dtype, shape)) throw std::bad_alloc();
}

bool ConvertValues(DType from_dtype, const uint8_t* from, DType to_dtype, uint8_t* to,
                   int64_t count) {
  if (from_dtype == to_dtype) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * SizeOf(from_dtype));
    return true;
  }
  bool known = false;
  WithSource(from_dtype, [&](auto source) {
    known = WithTarget(
        to_dtype, [&](auto target) { Loop<decltype(source), decltype(target)>(from, to, count); });
  });
  return known;
}

Status Convert(const Tensor& from, DType dtype, Tensor& into) {
  if (!into.TryReset(dtype, from.shape())) {
    return Error{ErrorKind::kRun, "out of memory for the converted values", "", ""};
  }
  if (!ConvertValues(from.dtype(), from.data(), dtype, into.data(), from.shape().Elements())) {
    return Error{ErrorKind::kRun,
                 fmt::format("{} cannot be cast to {}", Name(from.dtype()), Name(dtype)), "",
                 "cast to uint8, float16, bfloat16 or float32"};
  }
  return {};
}

}  // namespace stallscope::data
