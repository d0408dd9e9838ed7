#include "collectors/pipeline/batch_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stallscope::pipeline {
namespace {

data::Shape WithRows(int64_t rows, const data::Shape& row) {
  std::vector<int64_t> dims{rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return data::Shape::Of(dims);
}

// Copies a dense array into the corner of a larger one of the same rank that holds zeros.
void CopyCorner(const uint8_t* from, std::span<const int64_t> from_dims, uint8_t* to,
                std::span<const int64_t> to_dims, size_t value_bytes) {
  if (from_dims.size() <= 1) {
    const int64_t values = from_dims.empty() ? 1 : from_dims[0];
    if (values > 0) std::memcpy(to, from, static_cast<size_t>(values) * value_bytes);
    return;
  }
  size_t from_stride = value_bytes;
  size_t to_stride = value_bytes;
  for (size_t axis = 1; axis < from_dims.size(); ++axis) {
    from_stride *= static_cast<size_t>(from_dims[axis]);
    to_stride *= static_cast<size_t>(to_dims[axis]);
  }
  for (int64_t i = 0; i < from_dims[0]; ++i) {
    CopyCorner(from + static_cast<size_t>(i) * from_stride, from_dims.subspan(1),
               to + static_cast<size_t>(i) * to_stride, to_dims.subspan(1), value_bytes);
  }
}

}  // namespace

BatchAssembler::BatchAssembler(StageContext& context, int64_t samples, bool pad)
    : context_(context), capacity_(samples), pad_(pad) {
  batch_.batch = std::make_unique<BatchMembers>();
  batch_.batch->ids.reserve(static_cast<size_t>(samples));
  batch_.batch->labels.reserve(static_cast<size_t>(samples));
}

BatchAssembler::~BatchAssembler() {
  for (data::Tensor& tensor : waiting_) context_.elements.Give(std::move(tensor));
  context_.Recycle(std::move(batch_));
}

Status BatchAssembler::Start(data::DType dtype, const data::Shape& shape) {
  dtype_ = dtype;
  row_ = shape;
  row_bytes_ = static_cast<size_t>(shape.Elements()) * data::SizeOf(dtype);
  if (shape.rank() < data::Shape::kMaxRank) {
    auto value = context_.batches->Take(dtype, WithRows(capacity_, shape));
    if (value.has_value()) {
      batch_.value = std::move(*value);
      return {};
    }
  }
  return Error{ErrorKind::kRun,
               fmt::format("no memory for a batch of {} times {} {}", capacity_, shape.ToString(),
                           data::Name(dtype)),
               "", "make batch.size or the images smaller"};
}

Error DoesNotFit(data::DType dtype, const data::Shape& shape, data::DType first_dtype,
                 const data::Shape& first_shape) {
  return Error{ErrorKind::kRun,
               fmt::format("a sample of {} {} does not fit into a batch of {} {}", shape.ToString(),
                           data::Name(dtype), first_shape.ToString(), data::Name(first_dtype)),
               "", "resize the images to one size, or set pad in the batch stage"};
}

Result<uint8_t*> BatchAssembler::Place(data::DType dtype, const data::Shape& shape) {
  const size_t rows = batch_.batch->ids.size();
  if (rows == 0) STALLSCOPE_RETURN_IF_ERROR(Start(dtype, shape));
  if (dtype != dtype_ || !(shape == row_)) {
    return DoesNotFit(dtype, shape, dtype_, row_);
  }
  return batch_.value.data() + rows * row_bytes_;
}

Status BatchAssembler::Add(Element& sample) {
  if (sample.batch != nullptr) {
    return Error{ErrorKind::kUsage, "a batch of batches", "", "remove one of the two batch stages"};
  }
  if (pad_) {
    waiting_.push_back(std::move(sample.value));
    return AddPlaced(sample);
  }
  STALLSCOPE_ASSIGN_OR_RETURN(uint8_t* const row,
                              Place(sample.value.dtype(), sample.value.shape()));
  if (row_bytes_ > 0) std::memcpy(row, sample.value.data(), row_bytes_);
  return AddPlaced(sample);
}

Status BatchAssembler::AddPlaced(Element& sample) {
  AddMember(sample);
  for (size_t i = 0; i < sample.others.size(); ++i) {
    if (i == others_.size()) {
      others_.push_back(std::make_unique<BatchAssembler>(context_, capacity_, pad_));
    }
    STALLSCOPE_RETURN_IF_ERROR(others_[i]->Add(sample.others[i]));
  }
  return {};
}

void BatchAssembler::AddMember(const Element& sample) {
  BatchMembers& members = *batch_.batch;
  if (members.ids.empty()) {
    batch_.id = sample.id;
    batch_.file = sample.file;
    batch_.offset = sample.offset;
    batch_.content = sample.content;
  }
  if (sample.completed >= last_completed_) {
    last_completed_ = sample.completed;
    members.last = static_cast<int64_t>(members.ids.size());
  }
  members.ids.push_back(sample.id);
  members.labels.push_back(sample.label);
  if (sample.one_hot.bytes() == 0) return;
  const int64_t classes = sample.one_hot.shape()[0];
  if (members.ids.size() == 1) {
    auto made = context_.elements.Take(sample.one_hot.dtype(), {capacity_, classes});
    if (made.has_value()) batch_.one_hot = std::move(*made);
  }
  if (batch_.one_hot.shape().rank() == 2 && batch_.one_hot.shape()[1] == classes) {
    std::memcpy(batch_.one_hot.data() + (members.ids.size() - 1) * sample.one_hot.bytes(),
                sample.one_hot.data(), sample.one_hot.bytes());
  }
}

Status BatchAssembler::Pad() {
  std::vector<int64_t> most(waiting_[0].shape().dims().begin(), waiting_[0].shape().dims().end());
  for (const data::Tensor& tensor : waiting_) {
    if (tensor.dtype() != waiting_[0].dtype() || tensor.shape().rank() != most.size()) {
      return Error{ErrorKind::kRun,
                   fmt::format("samples of {} {} and {} {} cannot be padded to one shape",
                               waiting_[0].shape().ToString(), data::Name(waiting_[0].dtype()),
                               tensor.shape().ToString(), data::Name(tensor.dtype())),
                   "", "pad only extends lengths; it does not change the type or the rank"};
    }
    for (size_t axis = 0; axis < most.size(); ++axis) {
      most[axis] = std::max(most[axis], tensor.shape()[axis]);
    }
  }
  STALLSCOPE_RETURN_IF_ERROR(Start(waiting_[0].dtype(), data::Shape::Of(most)));
  if (batch_.value.bytes() > 0) std::memset(batch_.value.data(), 0, batch_.value.bytes());
  size_t bytes = 0;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    bytes += waiting_[i].bytes();
    CopyCorner(waiting_[i].data(), waiting_[i].shape().dims(), batch_.value.data() + i * row_bytes_,
               most, data::SizeOf(dtype_));
  }
  padded_bytes_ = row_bytes_ * waiting_.size();
  padding_bytes_ = padded_bytes_ - bytes;
  return {};
}

double BatchAssembler::padding() const {
  size_t all = padded_bytes_;
  size_t padding = padding_bytes_;
  for (const auto& other : others_) {
    all += other->padded_bytes_;
    padding += other->padding_bytes_;
  }
  return all > 0 ? static_cast<double>(padding) / static_cast<double>(all) : 0;
}

Result<Element> BatchAssembler::Finish() {
  if (pad_) STALLSCOPE_RETURN_IF_ERROR(Pad());
  const auto rows = static_cast<int64_t>(batch_.batch->ids.size());
  batch_.value.Reset(dtype_, WithRows(rows, row_));
  if (batch_.one_hot.bytes() > 0) {
    batch_.one_hot.Reset(batch_.one_hot.dtype(), {rows, batch_.one_hot.shape()[1]});
  }
  batch_.completed = last_completed_;
  for (const auto& other : others_) {
    STALLSCOPE_ASSIGN_OR_RETURN(Element whole, other->Finish());
    batch_.others.push_back(std::move(whole));
  }
  return std::move(batch_);
}

}  // namespace stallscope::pipeline
