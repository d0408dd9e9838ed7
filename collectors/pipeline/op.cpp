#include "collectors/pipeline/op.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "collectors/data/byte_source.h"
#include "collectors/pipeline/batch_assembler.h"
#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
Result<data::Tensor> OpWorker::NewTensor(data::DType dtype, const data::Shape& shape) {
  auto tensor = context.elements.Take(dtype, shape);
  if (tensor.has_value()) return std::move(*tensor);
  return Error{ErrorKind::kRun,
               fmt::format("no memory for a {} tensor of {}", data::Name(dtype), shape.ToString()),
               "", "use smaller images, buffers or batches"};
}

void OpWorker::Replace(Element& element, data::Tensor&& value) {
  context.elements.Give(std::move(element.value));
  element.value = std::move(value);
  element.content = Content::kTensor;
}

namespace {

// Row `index` of a batch as an element of its own.
Result<Element> TakeRow(const Element& batch, int64_t index, OpWorker& worker) {
  const data::Shape& shape = batch.value.shape();
  Element row;
  row.item = batch.item;
  row.id = batch.batch->ids[static_cast<size_t>(index)];
  row.label = batch.batch->labels[static_cast<size_t>(index)];
  row.content = batch.content;
  row.file = batch.file;
  STALLSCOPE_ASSIGN_OR_RETURN(
      row.value, worker.NewTensor(batch.value.dtype(), data::Shape::Of(shape.dims().subspan(1))));
  std::memcpy(row.value.data(), batch.value.data() + static_cast<size_t>(index) * row.value.bytes(),
              row.value.bytes());
  return row;
}

}  // namespace

Status Op::ApplyToBatch(Element& batch, OpWorker& worker) const {
  BatchAssembler assembler(worker.context, batch.samples(), /*pad=*/false);
  for (int64_t i = 0; i < batch.samples(); ++i) {
    STALLSCOPE_ASSIGN_OR_RETURN(Element row, TakeRow(batch, i, worker));
    STALLSCOPE_RETURN_IF_ERROR(Apply(row, worker));
    STALLSCOPE_RETURN_IF_ERROR(assembler.Add(row));
    worker.context.Recycle(std::move(row));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(Element whole, assembler.Finish());
  worker.context.batches->Give(std::move(batch.value));
  batch.value = std::move(whole.value);
  batch.content = Content::kTensor;
  return {};
}

Result<bool> Op::ApplyInto(const Element&, OpWorker&, ValuePlace&) const { return false; }

Error Located(Error error, const Element& element) {
  if (element.file == nullptr) return data::AsRunError(std::move(error));
  return data::AsRunError(
      data::Locate(std::move(error), {*element.file, element.offset, element.id.record}));
}

Result<std::vector<OpPtr>> MakeOps(std::span<const OpInstance> calls, const FeatureKeys& keys) {
  std::vector<OpPtr> ops;
  for (size_t i = 0; i < calls.size(); ++i) {
    const OpInstance* const next = i + 1 < calls.size() ? &calls[i + 1] : nullptr;
    // A decode finds the image in the record by itself, and need not have it copied to the front.
    if (calls[i].call.name() == "parse_example" && next != nullptr &&
        (next->call.name() == "decode_jpeg" || next->call.name() == "decode_png")) {
      continue;
    }
    bool took_next = false;
    OpPtr op = MakeDecodeOp(calls[i], next, keys, took_next);
    if (op == nullptr) op = MakeGeometryOp(calls[i]);
    if (op == nullptr) op = MakeValueOp(calls[i]);
    if (op == nullptr) op = MakeTextOp(calls[i], keys);
    if (op == nullptr) op = MakeCostOp(calls[i]);
    if (op == nullptr) {
      return Error{ErrorKind::kUsage,
                   fmt::format("'{}' cannot be used in a map", calls[i].call.name()),
                   calls[i].call.Text(), "put it into a filter"};
    }
    ops.push_back(std::move(op));
    if (took_next) ++i;
  }
  return ops;
}

}  // namespace stallscope::pipeline
