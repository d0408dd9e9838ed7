#include "collectors/pipeline/element_codec.h"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace stallscope::pipeline {
namespace {

template <class T>
void Append(data::Buffer& into, const T& value) {
  into.Append({reinterpret_cast<const uint8_t*>(&value), sizeof value});
}

void AppendTensor(data::Buffer& into, const data::Tensor& tensor) {
  if (tensor.bytes() == 0 && tensor.shape().rank() == 0) {  // never made: not a scalar either
    AppendTensor(into, data::Tensor(tensor.dtype(), {0}));
    return;
  }
  Append(into, static_cast<uint8_t>(tensor.dtype()));
  Append(into, static_cast<uint8_t>(tensor.shape().rank()));
  for (const int64_t dim : tensor.shape().dims()) Append(into, dim);
  into.Append(tensor.view());
}

// Takes values off the front of a view; everything after the first that is missing is too.
class Cursor {
 public:
  explicit Cursor(data::ByteView bytes) : rest_(bytes) {}

  template <class T>
  T Take() {
    T value{};
    if (rest_.size() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }

  std::optional<data::Tensor> TakeTensor(TensorPool& pool) {
    const auto dtype = static_cast<data::DType>(Take<uint8_t>());
    const auto rank = Take<uint8_t>();
    std::array<int64_t, data::Shape::kMaxRank> dims{};
    if (!ok_ || rank > dims.size() || dtype < data::DType::kUint8 ||
        dtype > data::DType::kFloat64) {
      return std::nullopt;
    }
    for (size_t i = 0; i < rank; ++i) dims[i] = Take<int64_t>();
    const std::span<const int64_t> used(dims.data(), rank);
    const auto size = data::CheckedBytes(dtype, used);
    if (!ok_ || !size.has_value() || *size > rest_.size()) return std::nullopt;
    auto tensor = pool.Take(dtype, data::Shape::Of(used));
    if (!tensor.has_value()) return std::nullopt;
    if (*size > 0) std::memcpy(tensor->data(), rest_.data(), *size);
    rest_ = rest_.subspan(*size);
    return tensor;
  }

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }

 private:
  data::ByteView rest_;
  bool ok_ = true;
};

// Whoever takes a batch apart counts on a row for each sample.
bool HasRows(const data::Tensor& tensor, uint32_t samples) {
  return tensor.shape().rank() > 0 && tensor.shape()[0] == samples;
}

void EncodePart(const Element& element, data::Buffer& into) {
  Append(into, element.id.file);
  Append(into, element.id.record);
  Append(into, element.label);
  Append(into, element.offset);
  Append(into, static_cast<uint8_t>(element.content));
  Append(into, element.batch != nullptr ? static_cast<uint32_t>(element.samples()) : uint32_t{0});
  AppendTensor(into, element.value);
  AppendTensor(into, element.one_hot);
  if (element.batch == nullptr) return;
  for (const ElementId& id : element.batch->ids) {
    Append(into, id.file);
    Append(into, id.record);
  }
  for (const int64_t label : element.batch->labels) Append(into, label);
}

// Nothing where it is damaged.
std::optional<Element> DecodePart(Cursor& cursor, StageContext& context) {
  Element element;
  element.id.file = cursor.Take<uint32_t>();
  element.id.record = cursor.Take<uint64_t>();
  element.label = cursor.Take<int64_t>();
  element.offset = cursor.Take<uint64_t>();
  element.content = static_cast<Content>(cursor.Take<uint8_t>());
  const auto samples = cursor.Take<uint32_t>();
  if (element.content > Content::kTensor) return std::nullopt;
  auto value = cursor.TakeTensor(samples > 0 ? *context.batches : context.elements);
  if (!value.has_value()) return std::nullopt;
  element.value = std::move(*value);
  auto one_hot = cursor.TakeTensor(context.elements);
  if (!one_hot.has_value()) return std::nullopt;
  element.one_hot = std::move(*one_hot);
  constexpr size_t kMemberBytes = 20;
  if (!cursor.ok() || cursor.left() < samples * kMemberBytes) return std::nullopt;
  if (samples == 0) return element;
  if (!HasRows(element.value, samples)) return std::nullopt;
  if (element.one_hot.bytes() > 0 && !HasRows(element.one_hot, samples)) return std::nullopt;
  element.batch = std::make_unique<BatchMembers>();
  for (uint32_t i = 0; i < samples; ++i) {
    ElementId id;
    id.file = cursor.Take<uint32_t>();
    id.record = cursor.Take<uint64_t>();
    element.batch->ids.push_back(id);
  }
  for (uint32_t i = 0; i < samples; ++i) element.batch->labels.push_back(cursor.Take<int64_t>());
  return element;
}

}  // namespace

void EncodeElement(const Element& element, data::Buffer& into) {
  into.Clear();
  for (size_t i = 0; i < element.parts(); ++i) EncodePart(element.part(i), into);
}

Result<Element> DecodeElement(data::ByteView bytes, StageContext& context) {
  const Error damaged{ErrorKind::kRun, "a stored element is damaged", "",
                      "remove the file; the next run writes it again"};
  Cursor cursor(bytes);
  std::optional<Element> element = DecodePart(cursor, context);
  if (!element.has_value()) return damaged;
  while (cursor.left() > 0) {
    std::optional<Element> other = DecodePart(cursor, context);
    const bool beside = other.has_value() && other->samples() == element->samples() &&
                        (other->batch == nullptr) == (element->batch == nullptr);
    if (!beside) return damaged;
    element->others.push_back(std::move(*other));
  }
  return std::move(*element);
}

}  // namespace stallscope::pipeline
