#include <cstring>
#include <utility>

#include "collectors/trainer/replica.h"

namespace stallscope::trainer {
namespace {

// What the device's thread does for one op: the bytes into a tensor, the op, the bytes back.
Status RunOnHost(const DeviceOps& ops, const pipeline::OpInstance& op,
                 const std::vector<pipeline::ElementId>& ids, const BatchForm& from, const void* in,
                 const BatchForm& to, void* out) {
  const auto whole = [](const BatchForm& form) {
    std::vector<int64_t> dims = {form.samples};
    dims.insert(dims.end(), form.sample.dims().begin(), form.sample.dims().end());
    return data::Shape::Of(dims);
  };
  data::Tensor before(from.dtype, whole(from));
  std::memcpy(before.data(), in, before.bytes());
  data::Tensor after;
  STALLSCOPE_RETURN_IF_ERROR(ops.run(op, ids, before, after));
  if (after.dtype() != to.dtype || after.shape() != whole(to)) {
    return Error{ErrorKind::kRun,
                 "gave " + after.shape().ToString() + " where it said " + whole(to).ToString(),
                 op.call.Text(), ""};
  }
  std::memcpy(out, after.data(), after.bytes());
  return {};
}

size_t Bytes(const BatchForm& form) {
  return static_cast<size_t>(form.values()) * data::SizeOf(form.dtype);
}

// Whatever the values are: not every dtype of a batch is one of a device's.
device::Operand BytesAt(device::Address address, const BatchForm& form) {
  return {address, static_cast<int64_t>(Bytes(form)), device::Type::kUint8};
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

Result<device::Address> Replica::UploadRegions(const std::vector<int32_t>& regions, ItemId batch) {
  Regions& slot = regions_[next_regions_++ % regions_.size()];
  if (slot.copied != nullptr) STALLSCOPE_RETURN_IF_ERROR(slot.copied->Wait());
  const size_t bytes = regions.size() * sizeof(int32_t);
  if (slot.count < regions.size()) {
    STALLSCOPE_RETURN_IF_ERROR(stream_->Synchronize());
    device_.FreePinned(reinterpret_cast<uint8_t*>(slot.host), slot.count * sizeof(int32_t));
    slot.count = 0;
    slot.host = reinterpret_cast<int32_t*>(device_.AllocatePinned(bytes));
    if (slot.host == nullptr) {
      return Error{ErrorKind::kRun, "no pinned memory left", "trainer", "make the batch smaller"};
    }
    slot.count = regions.size();
    slot.block = device::Block();
    STALLSCOPE_ASSIGN_OR_RETURN(slot.block, device_.Allocate(bytes));
  }
  std::memcpy(slot.host, regions.data(), bytes);
  device::CopyRequest copy;
  copy.device = slot.block.address();
  copy.host = slot.host;
  copy.bytes = bytes;
  copy.batch = batch;
  STALLSCOPE_RETURN_IF_ERROR(stream_->Copy(copy));
  STALLSCOPE_ASSIGN_OR_RETURN(slot.copied, stream_->Record());
  return slot.block.address();
}

Result<bool> Replica::RunPlanned(const LoadedBatch& batch, const pipeline::OpInstance& op,
                                 const DeviceOps& ops, const std::vector<pipeline::ElementId>& ids,
                                 const BatchForm& form, device::Address images,
                                 const BatchForm& after, device::Address out) {
  const auto from = DeviceType(form.dtype);
  const auto to = DeviceType(after.dtype);
  if (!device_.capabilities().image_kernels || !ops.plan || !from || !to) return false;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto plan, ops.plan(op, ids, form));
  if (!plan) return false;
  const ItemId item = batch.batch.item;
  device::Launch launch;
  launch.in = {{images, form.values(), *from}};
  launch.out = {{out, after.values(), *to}};
  if (!plan->regions.empty()) {
    const auto& before = form.sample;
    const auto count = static_cast<int64_t>(plan->regions.size());
    STALLSCOPE_ASSIGN_OR_RETURN(const device::Address at, UploadRegions(plan->regions, item));
    launch.kernel = device::Kernel::kRegions;
    launch.in.push_back({at, count, device::Type::kInt32});
    launch.ints = {form.samples, before[0], before[1], before[2], after.sample[0], after.sample[1]};
  } else if (!plan->channels.empty()) {
    launch.kernel = device::Kernel::kScaleChannels;
    launch.ints = {static_cast<int64_t>(plan->channels.size() / 2)};
    launch.floats = plan->channels;
  } else {
    launch.kernel = device::Kernel::kCast;
  }
  STALLSCOPE_RETURN_IF_ERROR(stream_->Run(launch, item));
  return true;
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
  STALLSCOPE_ASSIGN_OR_RETURN(const bool planned,
                              RunPlanned(batch, op, ops, ids, form, images, after, out));
  if (planned) {
    form = after;
    images = out;
    return {};
  }
  launch.in = {BytesAt(images, form)};
  launch.out = {BytesAt(out, after)};
  launch.on_host = [&ops, op, ids = std::move(ids), form, after](const void* from, void* to) {
    return RunOnHost(ops, op, ids, form, from, after, to);
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
