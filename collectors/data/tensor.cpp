#include "collectors/data/tensor.h"

#include <algorithm>
#include <cassert>
#include <new>

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

}  // namespace stallscope::data
