#include <cstring>
#include <utility>

#include "collectors/trainer/replica.h"

namespace stallscope::trainer {
namespace {

// What the device's thread does for one op: the bytes into a tensor, the op, the bytes back.
Status RunOnHost(const DeviceOps& ops, const pipeline::OpInstance& op,
                 const std::vector<pipeline::ElementId>& ids, const BatchForm& from,
                 device::Address in, const BatchForm& to, device::Address out) {
  const auto whole = [](const BatchForm& form) {
    std::vector<int64_t> dims = {form.samples};
    dims.insert(dims.end(), form.sample.dims().begin(), form.sample.dims().end());
    return data::Shape::Of(dims);
  };
  data::Tensor before(from.dtype, whole(from));
  std::memcpy(before.data(), reinterpret_cast<const void*>(in), before.bytes());
  data::Tensor after;
  STALLSCOPE_RETURN_IF_ERROR(ops.run(op, ids, before, after));
  if (after.dtype() != to.dtype || after.shape() != whole(to)) {
    return Error{ErrorKind::kRun,
                 "gave " + after.shape().ToString() + " where it said " + whole(to).ToString(),
                 op.call.Text(), ""};
  }
  std::memcpy(reinterpret_cast<void*>(out), after.data(), after.bytes());
  return {};
}

size_t Bytes(const BatchForm& form) {
  return static_cast<size_t>(form.values()) * data::SizeOf(form.dtype);
}

}  // namespace

Result<device::Address> Replica::MapBuffer(size_t bytes) {
  // One for each op of a step, used again in the next: the stream works in order.
  if (next_map_buffer_ == map_buffers_.size()) map_buffers_.emplace_back();
  device::Block& block = map_buffers_[next_map_buffer_++];
  if (block.bytes() < bytes) {
    STALLSCOPE_RETURN_IF_ERROR(stream_->Synchronize());
    block = device::Block();
    STALLSCOPE_ASSIGN_OR_RETURN(block, device_.Allocate(bytes));
  }
  return block.address();
}

Status Replica::RunOp(const LoadedBatch& batch, const pipeline::OpInstance& op,
                      const DeviceOps& ops, BatchForm& form, device::Address& images) {
  device::Launch launch;
  launch.kernel = device::Kernel::kImageOp;
  launch.image_op = op.call.Text();
  ++launches_;
  if (!device_.capabilities().computes) return stream_->Run(launch, batch.batch.item);
  if (!ops.form_after || !ops.run) {
    return Error{ErrorKind::kRun, "this program has no ops for a device", launch.image_op,
                 "put the map on the host"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const BatchForm after, ops.form_after(op, form));
  STALLSCOPE_ASSIGN_OR_RETURN(const device::Address out, MapBuffer(Bytes(after)));
  std::vector<pipeline::ElementId> ids = {batch.batch.id};
  if (batch.batch.batch) {
    const auto first = batch.batch.batch->ids.begin() + batch.shards[index_].first;
    ids.assign(first, first + form.samples);
  }
  launch.on_host = [&ops, op, ids = std::move(ids), form, images, after, out] {
    return RunOnHost(ops, op, ids, form, images, after, out);
  };
  STALLSCOPE_RETURN_IF_ERROR(stream_->Run(launch, batch.batch.item));
  form = after;
  images = out;
  return {};
}

Status Replica::RunMaps(const LoadedBatch& batch, const std::vector<pipeline::DeviceMap>& maps,
                        const DeviceOps& ops, BatchForm& form, device::Address& images) {
  next_map_buffer_ = 0;
  if (maps.empty() || form.samples == 0) return {};
  // The ops see the batch as the pipeline left it, not as the link had it.
  const bool computes = device_.capabilities().computes;
  if (computes && form.dtype != batch.dtype && DeviceType(batch.dtype)) {
    device::Launch cast;
    cast.kernel = device::Kernel::kCast;
    cast.in = {{images, form.values(), *DeviceType(form.dtype)}};
    form.dtype = batch.dtype;
    STALLSCOPE_ASSIGN_OR_RETURN(images, MapBuffer(Bytes(form)));
    cast.out = {{images, form.values(), *DeviceType(form.dtype)}};
    ++launches_;
    STALLSCOPE_RETURN_IF_ERROR(stream_->Run(cast, batch.batch.item));
  }
  for (const pipeline::DeviceMap& map : maps) {
    for (const pipeline::OpInstance& op : map.ops) {
      STALLSCOPE_RETURN_IF_ERROR(RunOp(batch, op, ops, form, images));
    }
  }
  return {};
}

}  // namespace stallscope::trainer
