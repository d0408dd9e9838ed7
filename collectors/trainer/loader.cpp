#include "collectors/trainer/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectors/data/convert.h"
#include "collectors/recorder/track.h"

namespace stallscope::trainer {

Loader::~Loader() {
  streams_.clear();  // waits for the copies
  for (Slot& slot : slots_) {
    for (size_t i = 0; i < slot.shards.size(); ++i) {
      auto* block = reinterpret_cast<uint8_t*>(slot.shards[i].staged_labels);
      devices_.at(i).FreePinned(block, slot.shards[i].staged_count * sizeof(int32_t));
    }
  }
}

Status Loader::Open() {
  streams_.resize(devices_.size());
  for (size_t replica = 0; replica < devices_.size(); ++replica) {
    for (int64_t i = 0; i < spec_.transfer.streams; ++i) {
      STALLSCOPE_ASSIGN_OR_RETURN(
          auto stream, devices_.at(replica).NewStream(fmt::format("device {} copy {}", replica, i),
                                                      trace::TrackKind::kCopyEngine));
      streams_[replica].push_back(std::move(stream));
    }
  }
  for (Slot& slot : slots_) {
    slot.converted = data::Tensor(spec_.transfer.pinned ? devices_.pinned() : nullptr);
    slot.shards.resize(devices_.size());
  }
  return {};
}

Status Loader::CheckLabels(const pipeline::Element& batch) const {
  const int64_t classes = spec_.trainer.model.classes;
  const auto check = [&](int64_t label) -> Status {
    if (label >= 0 && label < classes) return {};
    return Error{ErrorKind::kRun,
                 fmt::format("a sample has the label {}, and the model {} classes", label, classes),
                 batch.file ? *batch.file : "trainer.model.classes",
                 fmt::format("set trainer.model.classes to at least {}", label + 1)};
  };
  if (!batch.batch) return check(batch.label);
  for (const int64_t label : batch.batch->labels) STALLSCOPE_RETURN_IF_ERROR(check(label));
  return {};
}

const uint8_t* Loader::Converted(const pipeline::Element& batch, data::DType to, Slot& slot) {
  if (batch.value.dtype() == to) return batch.value.data();
  const recorder::SpanScope span(stage_, batch.item);
  slot.converted.Reset(to, batch.value.shape());
  // Of every dtype to those of a link there is one.
  data::ConvertValues(batch.value.dtype(), batch.value.data(), to, slot.converted.data(),
                      batch.value.shape().Elements());
  return slot.converted.data();
}

Result<LoadedBatch> Loader::Load(pipeline::Element batch, size_t slot) {
  LoadedBatch loaded;
  loaded.slot = slot;
  loaded.samples = batch.samples();
  loaded.dtype = batch.value.dtype();
  loaded.pixels = loaded.dtype == data::DType::kUint8;
  const bool computes = devices_.at(0).capabilities().computes;
  const BatchForm form = FormOf(batch.value, loaded.samples, batch.batch != nullptr);
  if (form.values() * static_cast<int64_t>(data::SizeOf(form.dtype)) !=
      static_cast<int64_t>(batch.value.bytes())) {
    return Error{ErrorKind::kRun, "a batch whose samples have different sizes",
                 batch.file ? *batch.file : "", "resize or crop the images, or set batch.pad"};
  }
  if (computes) STALLSCOPE_RETURN_IF_ERROR(CheckLabels(batch));
  STALLSCOPE_ASSIGN_OR_RETURN(const data::DType type,
                              TransferType(form.dtype, spec_.transfer.dtype));
  const uint8_t* values = Converted(batch, type, slots_[slot]);
  loaded.batch = std::move(batch);
  struct KeepWhereItFails {
    pipeline::Element& from;
    pipeline::Element& to;
    bool loaded = false;
    ~KeepWhereItFails() {
      if (!loaded) to = std::move(from);
    }
  } keep{loaded.batch, failed_};

  const auto replicas = static_cast<int64_t>(devices_.size());
  for (int64_t replica = 0; replica < replicas; ++replica) {
    LoadedShard shard;
    shard.form = form;
    shard.form.dtype = type;
    shard.first = loaded.samples * replica / replicas;
    shard.form.samples = loaded.samples * (replica + 1) / replicas - shard.first;
    STALLSCOPE_RETURN_IF_ERROR(
        LoadShard(loaded, static_cast<size_t>(replica), values, slots_[slot], shard));
    loaded.shards.push_back(std::move(shard));
  }
  keep.loaded = true;
  return loaded;
}

Status Loader::LoadShard(const LoadedBatch& loaded, size_t replica, const uint8_t* values,
                         Slot& slot, LoadedShard& shard) {
  if (shard.form.samples == 0) return {};
  Shard& into = slot.shards[replica];
  const size_t sample_bytes =
      static_cast<size_t>(shard.form.sample.Elements()) * data::SizeOf(shard.form.dtype);
  const size_t bytes = sample_bytes * static_cast<size_t>(shard.form.samples);
  if (into.images.bytes() < bytes) {
    into.images = device::Block();
    STALLSCOPE_ASSIGN_OR_RETURN(into.images, devices_.at(replica).Allocate(bytes));
  }
  shard.images = into.images.address();
  const uint8_t* from = values + sample_bytes * static_cast<size_t>(shard.first);
  const size_t streams = streams_[replica].size();
  for (size_t i = 0; i < streams; ++i) {
    // Parts of whole cache lines.
    const size_t first = bytes * i / streams / 64 * 64;
    const size_t end = i + 1 == streams ? bytes : bytes * (i + 1) / streams / 64 * 64;
    if (first == end) continue;
    device::CopyRequest copy;
    copy.device = shard.images + first;
    copy.host = const_cast<uint8_t*>(from + first);  // only read
    copy.bytes = end - first;
    copy.batch = loaded.batch.item;
    STALLSCOPE_RETURN_IF_ERROR(streams_[replica][i]->Copy(copy));
  }
  if (devices_.at(replica).capabilities().computes) {
    STALLSCOPE_RETURN_IF_ERROR(CopyLabels(loaded, replica, into, shard));
  }
  for (const auto& stream : streams_[replica]) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto copied, stream->Record());
    shard.copied.push_back(std::move(copied));
  }
  return {};
}

Status Loader::CopyLabels(const LoadedBatch& loaded, size_t replica, Shard& into,
                          LoadedShard& shard) {
  const auto count = static_cast<size_t>(shard.form.samples);
  const size_t bytes = count * sizeof(int32_t);
  device::Device& device = devices_.at(replica);
  if (into.staged_count < count) {
    device.FreePinned(reinterpret_cast<uint8_t*>(into.staged_labels),
                      into.staged_count * sizeof(int32_t));
    into.staged_count = 0;
    into.staged_labels = reinterpret_cast<int32_t*>(device.AllocatePinned(bytes));
    if (into.staged_labels == nullptr) {
      return Error{ErrorKind::kRun, "no memory left for labels", "", "make the batch smaller"};
    }
    into.staged_count = count;
    into.labels = device::Block();
    STALLSCOPE_ASSIGN_OR_RETURN(into.labels, device.Allocate(bytes));
  }
  shard.labels = into.labels.address();
  const pipeline::Element& batch = loaded.batch;
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(shard.first) + i;
    into.staged_labels[i] =
        static_cast<int32_t>(batch.batch ? batch.batch->labels[at] : batch.label);
  }
  device::CopyRequest copy;
  copy.device = shard.labels;
  copy.host = into.staged_labels;
  copy.bytes = bytes;
  copy.batch = batch.item;
  return streams_[replica][0]->Copy(copy);
}

}  // namespace stallscope::trainer
