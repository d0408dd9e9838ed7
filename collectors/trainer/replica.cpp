#include "collectors/trainer/replica.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/base/clock.h"
#include "collectors/trainer/model.h"
#include "collectors/trainer/plan.h"

namespace stallscope::trainer {
namespace {

// One op on the device's thread: the bytes into a tensor, the op, the bytes back.
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
                 "returned " + after.shape().ToString() + " instead of " + whole(to).ToString(),
                 op.call.Text(), ""};
  }
  std::memcpy(out, after.data(), after.bytes());
  return {};
}

size_t Bytes(const BatchForm& form) {
  return static_cast<size_t>(form.values()) * data::SizeOf(form.dtype);
}

// As bytes, because not every dtype of a batch is a device's.
device::Operand BytesAt(device::Address address, const BatchForm& form) {
  return {address, static_cast<int64_t>(Bytes(form)), device::Type::kUint8};
}

}  // namespace

Replica::~Replica() {
  CloseStream();
  for (Regions& each : regions_) {
    device_.FreePinned(reinterpret_cast<uint8_t*>(each.host), each.count * sizeof(int32_t));
  }
}

Status Replica::Open() {
  STALLSCOPE_ASSIGN_OR_RETURN(stream_,
                              device_.NewStream("device " + std::to_string(index_) + " compute",
                                                trace::TrackKind::kStream));
  return {};
}

Status Replica::Upload(device::Address to, const float* values, size_t count) {
  device::CopyRequest copy;
  copy.device = to;
  copy.host = const_cast<float*>(values);  // only read
  copy.bytes = count * sizeof(float);
  STALLSCOPE_RETURN_IF_ERROR(stream_->Copy(copy));
  return stream_->Synchronize();
}

Status Replica::AllocateModel(const Plan& plan) {
  const auto all = static_cast<size_t>(plan.parameter_elements);
  const size_t narrow = all * device::SizeOf(ComputeType(trainer_.precision));
  const bool adam = trainer_.optimizer.kind == OptimizerKind::kAdam;
  const size_t wide = all * sizeof(float);
  const size_t sum = trainer_.accumulate > 1 ? wide : 0;
  const size_t reduced = replicas_ > 1 ? all * device::SizeOf(GradientType(trainer_)) : 0;
  parameters_ = plan.parameters;
  parameter_elements_ = plan.parameter_elements;
  model_bytes_ =
      wide * (adam ? 3 : 2) + narrow + sum + reduced + device::kStateValues * sizeof(float);
  if (!device_.capabilities().computes) return {};
  const auto allocate = [&](device::Block& block, size_t bytes) -> Status {
    STALLSCOPE_ASSIGN_OR_RETURN(block, device_.Allocate(bytes));
    return {};
  };
  STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.weights, wide));
  STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.gradients, narrow));
  if (sum > 0) STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.sum, sum));
  if (reduced > 0) STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.reduced, reduced));
  STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.moment1, wide));
  if (adam) STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.moment2, wide));
  STALLSCOPE_RETURN_IF_ERROR(allocate(memory_.state, device::kStateValues * sizeof(float)));

  const std::vector<float> weights = InitialWeights(plan, seed_);
  STALLSCOPE_RETURN_IF_ERROR(Upload(memory_.weights.address(), weights.data(), all));
  const std::vector<float> zeros(all);
  STALLSCOPE_RETURN_IF_ERROR(Upload(memory_.moment1.address(), zeros.data(), all));
  if (adam) STALLSCOPE_RETURN_IF_ERROR(Upload(memory_.moment2.address(), zeros.data(), all));
  // The gaps between parameters are never written, but the optimizer reads them.
  STALLSCOPE_RETURN_IF_ERROR(
      Upload(memory_.gradients.address(), zeros.data(), narrow / sizeof(float)));
  std::vector<float> state(device::kStateValues);
  const bool mixed = ComputeType(trainer_.precision) != device::Type::kFloat32;
  state[device::kLossScale] = mixed ? static_cast<float>(trainer_.loss_scale.initial) : 1;
  state[device::kFinite] = 1;
  return Upload(memory_.state.address(), state.data(), state.size());
}

// Samples of another size than those of the first batch ask for other weights than there are. An
// emulated device has none.
Status Replica::CheckModel(const Plan& plan, const BatchForm& form) const {
  const auto same = [](const Parameter& a, const Parameter& b) { return a.elements == b.elements; };
  if (!device_.capabilities().computes ||
      std::equal(parameters_.begin(), parameters_.end(), plan.parameters.begin(),
                 plan.parameters.end(), same)) {
    return {};
  }
  return Error{ErrorKind::kUsage,
               "a sample of " + form.sample.ToString() +
                   " does not fit a model that the first batch made for another size",
               "trainer.model", "give all samples one size: resize the images, or pad the lists"};
}

device::Operand Replica::Gradients() const {
  const device::Block& own = trainer_.accumulate > 1 ? memory_.sum : memory_.gradients;
  return {own.address(), parameter_elements_, GradientType(trainer_)};
}

Status Replica::GrowActivations(uint64_t bytes) {
  if (bytes <= activations_.bytes()) return {};
  STALLSCOPE_RETURN_IF_ERROR(stream_->Synchronize());
  programs_.clear();  // their addresses are gone
  activations_ = device::Block();
  STALLSCOPE_ASSIGN_OR_RETURN(activations_, device_.Allocate(bytes));
  return {};
}

Result<std::shared_ptr<const device::Graph>> Replica::CaptureList(
    const std::vector<const std::vector<device::Launch>*>& lists) {
  const int64_t began_ns = MonotonicNs();
  STALLSCOPE_RETURN_IF_ERROR(stream_->BeginCapture());
  for (const auto* list : lists) {
    for (const device::Launch& launch : *list) {
      STALLSCOPE_RETURN_IF_ERROR(stream_->Run(launch, ItemId::None()));
    }
  }
  ++captures_;
  auto graph = stream_->EndCapture();
  capture_ns_ += MonotonicNs() - began_ns;
  return graph;
}

Status Replica::Capture(Program& program) {
  if (replicas_ == 1 && trainer_.accumulate == 1) {
    STALLSCOPE_ASSIGN_OR_RETURN(program.compute_graph,
                                CaptureList({&program.compute, &program.update}));
    return {};
  }
  // What is in between waits for the other replicas, or for the update's last batch.
  STALLSCOPE_ASSIGN_OR_RETURN(program.compute_graph, CaptureList({&program.compute}));
  STALLSCOPE_ASSIGN_OR_RETURN(program.update_graph, CaptureList({&program.update}));
  return {};
}

Status Replica::FindProgram(const BatchForm& form, const LoadedShard& shard,
                            const LoadedBatch& batch, device::Address images, bool pixels) {
  const auto dims = form.sample.dims();
  const Key key{form.samples, {dims.begin(), dims.end()}, form.dtype, images, batch.samples,
                pixels};
  if (const auto known = programs_.find(key); known != programs_.end()) {
    program_ = &known->second;
    return {};
  }
  Plan plan = BuildPlan(trainer_, form, batch.samples, pixels);
  RemoveDuplicates(plan);
  if (trainer_.fuse && device_.capabilities().dense) FuseDense(plan);
  if (trainer_.fuse) FuseElementwise(plan);
  if (model_bytes_ == 0) STALLSCOPE_RETURN_IF_ERROR(AllocateModel(plan));
  STALLSCOPE_RETURN_IF_ERROR(CheckModel(plan, form));
  const double emulated = EmulatedActivationBytes(trainer_) * static_cast<double>(form.samples);
  STALLSCOPE_RETURN_IF_ERROR(GrowActivations(
      device_.capabilities().computes ? ActivationBytes(plan) : static_cast<uint64_t>(emulated)));
  Addresses at;
  at.activations = activations_.address();
  at.images = images;
  at.labels = shard.labels;
  at.weights = memory_.weights.address();
  at.gradients = memory_.gradients.address();
  at.sum = memory_.sum.address();
  at.reduced = replicas_ > 1 ? memory_.reduced.address() : Gradients().address;
  at.moment1 = memory_.moment1.address();
  at.moment2 = memory_.moment2.address();
  at.state = memory_.state.address();
  Program program = Bind(plan, at);
  if (trainer_.graph == GraphMode::kCaptured) STALLSCOPE_RETURN_IF_ERROR(Capture(program));
  program_ = &programs_.emplace(key, std::move(program)).first->second;
  return {};
}

Status Replica::RunList(const std::vector<device::Launch>& list,
                        const std::shared_ptr<const device::Graph>& graph, ItemId batch) {
  if (graph != nullptr) {
    ++launches_;
    return stream_->Run(graph, batch);
  }
  launches_ += list.size();
  for (const device::Launch& launch : list) {
    STALLSCOPE_RETURN_IF_ERROR(stream_->Run(launch, batch));
  }
  return {};
}

Status Replica::Compute(const LoadedBatch& batch, const std::vector<pipeline::DeviceMap>& maps,
                        const DeviceOps& ops, bool first) {
  const LoadedShard& shard = batch.shards[index_];
  launches_ = 0;
  for (const auto& copied : shard.copied) STALLSCOPE_RETURN_IF_ERROR(stream_->Wait(copied));
  BatchForm form = shard.form;
  device::Address images = shard.images;
  STALLSCOPE_RETURN_IF_ERROR(RunMaps(batch, maps, ops, form, images));
  if (device_.capabilities().computes) {
    STALLSCOPE_RETURN_IF_ERROR(CheckForm(form, trainer_.model));
  } else {
    form = EmulatedForm(form, trainer_.model);
  }
  // Pixels that were widened for the link are still pixels; the output of a map is not.
  const bool pixels = form.dtype == data::DType::kUint8 || (maps.empty() && batch.pixels);
  STALLSCOPE_RETURN_IF_ERROR(FindProgram(form, shard, batch, images, pixels));
  if (first && trainer_.accumulate > 1) {
    // Not after the update: the other replicas may still read the sum.
    device::Launch zero;
    zero.kernel = device::Kernel::kZero;
    zero.out = {Gradients()};
    ++launches_;
    STALLSCOPE_RETURN_IF_ERROR(stream_->Run(zero, batch.batch.item));
  }
  return RunList(program_->compute, program_->compute_graph, batch.batch.item);
}

Status Replica::AllReduce(const std::vector<std::unique_ptr<Replica>>& all, ItemId batch) {
  if (all.size() == 1) return {};
  device::Launch reduce;
  reduce.kernel = device::Kernel::kAllReduce;
  for (const auto& replica : all) reduce.in.push_back(replica->Gradients());
  reduce.out = {{memory_.reduced.address(), parameter_elements_, GradientType(trainer_)}};
  ++launches_;
  return stream_->Run(reduce, batch);
}

Status Replica::Update(ItemId batch) {
  // A captured step may include it.
  if (program_->compute_graph != nullptr && program_->update_graph == nullptr) return {};
  return RunList(program_->update, program_->update_graph, batch);
}

Status Replica::ReadState(float* into, ItemId batch) {
  if (!device_.capabilities().computes) return {};
  device::CopyRequest copy;
  copy.direction = trace::CopyDirection::kDeviceToHost;
  copy.device = memory_.state.address();
  copy.host = into;
  copy.bytes = device::kStateValues * sizeof(float);
  copy.batch = batch;
  return stream_->Copy(copy);
}

BatchForm EmulatedForm(const BatchForm& form, const ModelSpec& model) {
  if (CheckForm(form, model).ok() && model.kind == ModelKind::kMixer) return form;
  // One patch per sample: the emulated time does not depend on the model.
  BatchForm instead = form;
  instead.sample = {model.patch, model.patch, 3};
  instead.dtype = data::DType::kUint8;
  return instead;
}

Result<device::Address> Replica::MapBuffer(size_t bytes) {
  // One per op of a step, reused in the next step: the stream works in order.
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
      return Error{ErrorKind::kRun, "out of pinned memory", "trainer", "make the batch smaller"};
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
  if (!device_.capabilities().computes) {
    // Accepts any batch: for one that the op would reject, the existing bytes count.
    BatchForm after = form;
    if (ops.form_after) {
      if (auto known = ops.form_after(op, form); known.ok()) after = std::move(known).value();
    }
    launch.in = {BytesAt(images, form)};
    launch.out = {BytesAt(images, after)};
    form = after;
    return stream_->Run(launch, batch.batch.item);
  }
  if (!ops.form_after || !ops.run) {
    return Error{ErrorKind::kRun, "this program has no ops for devices", launch.image_op,
                 "run the map on the host"};
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
  if (form.dtype != batch.dtype && DeviceType(batch.dtype)) {
    device::Launch cast;
    cast.kernel = device::Kernel::kCast;
    cast.in = {{images, form.values(), *DeviceType(form.dtype)}};
    form.dtype = batch.dtype;
    if (device_.capabilities().computes) {
      STALLSCOPE_ASSIGN_OR_RETURN(images, MapBuffer(Bytes(form)));
    }
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
