#include "collectors/pipeline/tensor_pool.h"

#include <bit>
#include <new>
#include <utility>

namespace stallscope::pipeline {

// Four classes to each doubling, the smallest of 256 bytes: at most a quarter is wasted.
size_t TensorPool::ClassOf(uint64_t bytes) {
  if (bytes <= 256) return 0;
  const auto doubling = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  const uint64_t quarter = (bytes - 1) >> (doubling - 2) & 3;
  return static_cast<size_t>((doubling - 8) * 4 + quarter + 1);
}

uint64_t TensorPool::BytesOf(size_t size_class) {
  if (size_class == 0) return 256;
  const uint64_t doubling = (size_class - 1) / 4 + 8;
  return (uint64_t{1} << (doubling - 2)) * (5 + (size_class - 1) % 4);
}

std::optional<data::Tensor> TensorPool::Take(data::DType dtype, const data::Shape& shape) {
  const auto bytes = data::CheckedBytes(dtype, shape.dims());
  if (!bytes.has_value()) return std::nullopt;
  const size_t size_class = ClassOf(*bytes);
  {
    const std::lock_guard lock(mutex_);
    std::vector<data::Tensor>& free = free_[size_class];
    if (!free.empty()) {
      data::Tensor tensor = std::move(free.back());
      free.pop_back();
      if (tensor.TryReset(dtype, shape)) return tensor;
      return std::nullopt;
    }
  }
  data::Tensor tensor(memory_);
  const auto whole = static_cast<int64_t>(BytesOf(size_class));
  if (!tensor.TryReset(data::DType::kUint8, {whole}) || !tensor.TryReset(dtype, shape)) {
    return std::nullopt;
  }
  bytes_.fetch_add(tensor.capacity(), std::memory_order_relaxed);
  return tensor;
}

void TensorPool::Give(data::Tensor&& tensor) noexcept {
  if (tensor.capacity() == 0) return;
  const size_t size_class = ClassOf(tensor.capacity());
  // Not one of ours, or grown meanwhile: the heap has it back.
  if (BytesOf(size_class) != tensor.capacity()) {
    const data::Tensor gone = std::move(tensor);
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    free_[size_class].push_back(std::move(tensor));
  } catch (const std::bad_alloc&) {
    const data::Tensor gone = std::move(tensor);
  }
}

}  // namespace stallscope::pipeline
