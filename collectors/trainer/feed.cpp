#include "collectors/trainer/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectors/data/tensor.h"
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
                 fmt::format("label {} is out of range ({} classes)", label, classes),
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
  // Every dtype converts to the link's.
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
  for (size_t i = 0; i < batch.parts(); ++i) {
    const pipeline::Element& part = batch.part(i);
    const BatchForm whole = FormOf(part.value, loaded.samples, batch.batch != nullptr);
    if (whole.values() * static_cast<int64_t>(data::SizeOf(whole.dtype)) ==
        static_cast<int64_t>(part.value.bytes())) {
      continue;
    }
    return Error{ErrorKind::kRun, "the samples of the batch have different sizes",
                 part.file ? *part.file : "", "resize or crop the images, or set batch.pad"};
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
  const uint8_t* from = values + sample_bytes * static_cast<size_t>(shard.first);
  STALLSCOPE_RETURN_IF_ERROR(CopyValues(replica, from, bytes, loaded.batch.item, into.images));
  shard.images = into.images.address();
  into.others.resize(loaded.batch.others.size());
  for (size_t i = 0; i < into.others.size(); ++i) {
    const data::Tensor& other = loaded.batch.others[i].value;
    const size_t each = other.bytes() / static_cast<size_t>(loaded.samples);
    STALLSCOPE_RETURN_IF_ERROR(CopyValues(
        replica, other.data() + each * static_cast<size_t>(shard.first),
        each * static_cast<size_t>(shard.form.samples), loaded.batch.item, into.others[i]));
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

Status Loader::CopyValues(size_t replica, const uint8_t* from, size_t bytes, ItemId batch,
                          device::Block& into) {
  if (into.bytes() < bytes) {
    into = device::Block();
    STALLSCOPE_ASSIGN_OR_RETURN(into, devices_.at(replica).Allocate(bytes));
  }
  const size_t streams = streams_[replica].size();
  for (size_t i = 0; i < streams; ++i) {
    // In whole cache lines.
    const size_t first = bytes * i / streams / 64 * 64;
    const size_t end = i + 1 == streams ? bytes : bytes * (i + 1) / streams / 64 * 64;
    if (first == end) continue;
    device::CopyRequest copy;
    copy.device = into.address() + first;
    copy.host = const_cast<uint8_t*>(from + first);  // only read
    copy.bytes = end - first;
    copy.batch = batch;
    STALLSCOPE_RETURN_IF_ERROR(streams_[replica][i]->Copy(copy));
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
      return Error{ErrorKind::kRun, "out of memory for labels", "", "make the batch smaller"};
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

Feed::Feed(Devices& devices, const Spec& spec, const TrainerOptions& options, StageId stage,
           size_t in_flight)
    : spec_(spec),
      options_(options),
      stage_(stage),
      prefetch_(static_cast<size_t>(spec.transfer.prefetch_to_device)),
      loader_(devices, spec, prefetch_ + in_flight + 1, stage) {
  for (size_t slot = prefetch_ + in_flight + 1; slot-- > 0;) free_slots_.push_back(slot);
}

Feed::~Feed() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  slots_changed_.notify_all();
  thread_.Join();
}

Status Feed::Open() {
  STALLSCOPE_RETURN_IF_ERROR(loader_.Open());
  if (prefetch_ == 0) return {};
  if (options_.recorder != nullptr) {
    trace::QueueInfo queue;
    queue.name = "prefetch_to_device";
    queue.capacity = prefetch_;
    queue_ = options_.recorder->DefineQueue(queue);
  }
  return thread_.Start([this] { Loop(); },
                       [this](Error error) {
                         {
                           const std::lock_guard<std::mutex> lock(mutex_);
                           end_ = Result<std::optional<LoadedBatch>>(std::move(error));
                         }
                         ready_changed_.notify_one();
                       });
}

Result<std::optional<LoadedBatch>> Feed::Fetch(size_t slot) {
  const Ticks requested = NowTicks();
  STALLSCOPE_ASSIGN_OR_RETURN(auto batch, options_.next());
  const Ticks received = NowTicks();
  if (!batch) return std::optional<LoadedBatch>();
  STALLSCOPE_ASSIGN_OR_RETURN(auto loaded, loader_.Load(std::move(*batch), slot));
  loaded.requested = requested;
  loaded.received = received;
  return std::optional<LoadedBatch>(std::move(loaded));
}

Result<std::optional<LoadedBatch>> Feed::Next() {
  if (prefetch_ == 0) {
    const size_t slot = free_slots_.back();
    auto loaded = Fetch(slot);
    if (loaded.ok() && loaded.value()) free_slots_.pop_back();
    return loaded;
  }
  const Ticks requested = NowTicks();
  std::unique_lock<std::mutex> lock(mutex_);
  if (ready_.empty() && !end_) {
    const recorder::WaitScope wait(trace::WaitCause::kEmpty, queue_);
    ready_changed_.wait(lock, [&] { return !ready_.empty() || end_; });
  }
  if (ready_.empty()) return std::move(*end_);
  LoadedBatch loaded = std::move(ready_.front());
  ready_.pop_front();
  const auto depth = static_cast<uint32_t>(ready_.size());
  lock.unlock();
  slots_changed_.notify_one();
  loaded.requested = requested;
  loaded.received = NowTicks();
  if (auto* track = recorder::CurrentTrack(); track != nullptr) {
    track->Pop(queue_, loaded.batch.item, depth, loaded.received);
  }
  return std::optional<LoadedBatch>(std::move(loaded));
}

void Feed::Release(LoadedBatch&& batch) {
  if (options_.recycle) options_.recycle(std::move(batch.batch));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_slots_.push_back(batch.slot);
  }
  slots_changed_.notify_one();
}

// False: the feed is stopping.
bool Feed::WaitForSlot(size_t& slot) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto may = [&] { return stop_ || (!free_slots_.empty() && ready_.size() < prefetch_); };
  if (!may()) {
    const recorder::WaitScope wait(trace::WaitCause::kFull, queue_);
    slots_changed_.wait(lock, may);
  }
  if (stop_) return false;
  slot = free_slots_.back();
  free_slots_.pop_back();
  return true;
}

void Feed::Loop() {
  const recorder::ThreadScope scope(options_.recorder, "trainer feed", stage_);
  const int64_t most = spec_.trainer.steps;
  size_t slot = 0;
  for (int64_t fetched = 0; (most == 0 || fetched < most) && WaitForSlot(slot); ++fetched) {
    auto loaded = Fetch(slot);
    const bool more = loaded.ok() && loaded.value();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (more) {
        const ItemId item = loaded.value()->batch.item;
        ready_.push_back(std::move(*std::move(loaded).value()));
        if (scope.track() != nullptr) {
          scope.track()->Push(queue_, item, static_cast<uint32_t>(ready_.size()), NowTicks());
        }
      } else {
        end_ = std::move(loaded);
      }
    }
    ready_changed_.notify_one();
    if (!more) return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!end_) end_ = Result<std::optional<LoadedBatch>>(std::optional<LoadedBatch>());
  ready_changed_.notify_one();
}

}  // namespace stallscope::trainer
