#include "collectors/pipeline/source_stage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/plan/plan.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {
Status PayForElement(const SourceSpec& spec, StageContext& context) {
  if (spec.busy_us > 0) {
    const int64_t end = ThreadCpuNs() + static_cast<int64_t>(spec.busy_us * 1000);
    while (ThreadCpuNs() < end) {
      if (context.token.cancelled()) return CancelledError();
    }
  }
  if (spec.sleep_us > 0 && !context.token.SleepFor(static_cast<int64_t>(spec.sleep_us * 1000))) {
    return CancelledError();
  }
  return {};
}

InlineSource::InlineSource(std::shared_ptr<const ReaderShared> shared, SourceOptions options)
    : shared_(std::move(shared)), options_(std::move(options)) {
  Restart(0);
}

void InlineSource::Restart(uint32_t epoch) {
  epoch_ = epoch;
  next_file_ = 0;
  turn_ = 0;
  taken_ = 0;
  cycle_.clear();
  cycle_.resize(
      std::min(static_cast<size_t>(shared_->spec.cycle_length.value), shared_->files.paths.size()));
  for (auto& stream : cycle_) {
    stream = std::make_unique<FileStream>(*shared_, options_.stage, next_file_++, epoch_);
  }
}

Result<std::optional<Element>> InlineSource::Next() {
  size_t idle = 0;  // places in a row that had nothing
  while (idle < cycle_.size()) {
    auto& stream = cycle_[turn_];
    if (stream != nullptr && taken_ < shared_->spec.block_length) {
      STALLSCOPE_ASSIGN_OR_RETURN(auto element, stream->Next());
      if (element.has_value()) {
        ++taken_;
        STALLSCOPE_RETURN_IF_ERROR(PayForElement(shared_->spec, *shared_->context));
        return element;
      }
      stream.reset();
      if (next_file_ < shared_->files.paths.size()) {
        stream = std::make_unique<FileStream>(*shared_, options_.stage, next_file_++, epoch_);
        idle = 0;
      }
    }
    idle = stream == nullptr ? idle + 1 : 0;
    turn_ = (turn_ + 1) % cycle_.size();
    taken_ = 0;
  }
  return std::optional<Element>();
}

Result<std::optional<Element>> CountingSource::Next() {
  if (next_ == elements_) return std::optional<Element>();
  if (context_.token.cancelled()) return CancelledError();
  Element element;
  element.item = context_.NewItem();
  element.id = {file_, epoch_, next_++};
  element.label = static_cast<int64_t>(element.id.record % 10);
  context_.source_elements.fetch_add(1, std::memory_order_relaxed);
  return std::optional<Element>(std::move(element));
}

void CountingSource::Restart(uint32_t epoch) {
  epoch_ = epoch;
  next_ = 0;
}

Result<std::optional<Element>> SyntheticRunner::Run(std::vector<Element>& job,
                                                    RunnerWorker& worker) const {
  Element element = std::move(job.front());
  worker.NeedMeters(1);
  worker.meters[0].Begin(stage_);
  STALLSCOPE_RETURN_IF_ERROR(PayForElement(spec_, context_));
  STALLSCOPE_ASSIGN_OR_RETURN(element.value,
                              worker.ops.NewTensor(data::DType::kUint8, {spec_.bytes}));
  if (element.value.bytes() > 0) {
    std::memset(element.value.data(), static_cast<int>(element.id.record & 0xff),
                element.value.bytes());
  }
  element.completed = NowTicks();
  if (recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
    worker.meters[0].End(stage_, element.item, element.value.bytes());
    track->Element({.item = element.item,
                    .record = element.id.record,
                    .bytes = element.value.bytes(),
                    .epoch = element.id.epoch});
  }
  return std::optional<Element>(std::move(element));
}

ParallelSource::ParallelSource(std::shared_ptr<const ReaderShared> shared, SourceOptions options)
    : shared_(std::move(shared)),
      options_(std::move(options)),
      cycle_length_(std::max<size_t>(std::min(static_cast<size_t>(shared_->spec.cycle_length.value),
                                              shared_->files.paths.size()),
                                     1)),
      lane_capacity_(static_cast<size_t>(plan::LaneCapacity(shared_->spec))) {
  Restart(0);
  shared_->context->token.OnCancel([this] {
    { const std::lock_guard lock(mutex_); }
    work_.notify_all();
    parked_.notify_all();
    ready_.notify_all();
  });
  try {
    SetParallelism(shared_->spec.parallelism.value);
  } catch (...) {
    // No destructor runs: the readers would wait forever, and the join for them.
    shared_->context->token.Cancel();
    throw;
  }
}

ParallelSource::~ParallelSource() {
  shared_->context->token.Cancel();
  threads_.Join();
}

void ParallelSource::SetParallelism(int64_t parallelism) {
  StageContext& context = *shared_->context;
  Status started;
  {
    const std::lock_guard lock(mutex_);
    if (context.token.cancelled()) return;
    target_ = std::max<int64_t>(parallelism, 1);
    while (started.ok() && static_cast<int64_t>(threads_.size()) < target_) {
      started = threads_.Start(
          [this, index = static_cast<int64_t>(threads_.size())] { Read(index); },
          [this](Error error) { shared_->context->Fail(std::move(error), options_.name); });
    }
    OpenAhead();
    work_.notify_all();
    parked_.notify_all();
  }
  if (!started.ok()) context.Fail(std::move(started).error(), options_.name);
}

TunerLoad ParallelSource::load() const {
  return {busy_ticks_.load(std::memory_order_relaxed), times_empty_.load(std::memory_order_relaxed),
          0};
}

void ParallelSource::Restart(uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  next_file_ = 0;
  turn_ = 0;
  taken_ = 0;
  cycle_.clear();
  ahead_.clear();
  cycle_.resize(cycle_length_);
  for (auto& lane : cycle_) {
    if (next_file_ < shared_->files.paths.size()) {
      lane = std::make_unique<Lane>(*shared_, options_.stage, next_file_++, epoch_);
    }
  }
  OpenAhead();
  work_.notify_all();
}

// With the lock held. As many files ahead of the cycle as there are readers: small files end at
// once, and a reader should have the next one to go on with.
void ParallelSource::OpenAhead() {
  while (static_cast<int64_t>(ahead_.size()) < target_ &&
         next_file_ < shared_->files.paths.size()) {
    ahead_.push_back(std::make_unique<Lane>(*shared_, options_.stage, next_file_++, epoch_));
  }
}

// The lane that will be asked first among those with room.
ParallelSource::Lane* ParallelSource::LaneToRead() {
  const auto readable = [&](const Lane* lane) {
    return lane != nullptr && !lane->taken && !lane->ended && lane->ready.size() < lane_capacity_;
  };
  for (size_t i = 0; i < cycle_.size(); ++i) {
    Lane* const lane = cycle_[(turn_ + i) % cycle_.size()].get();
    if (readable(lane)) return lane;
  }
  for (const auto& lane : ahead_) {
    if (readable(lane.get())) return lane.get();
  }
  return nullptr;
}

void ParallelSource::Read(int64_t index) {
  StageContext& context = *shared_->context;
  const recorder::ThreadScope scope(context.recorder, options_.name + "/" + std::to_string(index),
                                    options_.stage);
  std::unique_lock lock(mutex_);
  while (!context.token.cancelled()) {
    const bool parked = index >= target_;
    Lane* const lane = parked ? nullptr : LaneToRead();
    if (lane != nullptr) {
      FillLane(*lane, lock);
      continue;
    }
    const recorder::WaitScope wait(trace::WaitCause::kFull, options_.queue);
    (parked ? parked_ : work_).wait(lock);
  }
}

void ParallelSource::FillLane(Lane& lane, std::unique_lock<std::mutex>& lock) {
  lane.taken = true;
  bool go_on = true;
  while (go_on) {
    lock.unlock();
    const Ticks start = NowTicks();
    auto next = lane.stream.Next();
    busy_ticks_.fetch_add(NowTicks() - start, std::memory_order_relaxed);
    lock.lock();
    recorder::Track* const track = recorder::CurrentTrack();
    if (!next.ok()) {
      lane.error = std::make_unique<Error>(std::move(next).error());
      lane.ended = true;
    } else if (!next.value().has_value()) {
      lane.ended = true;
    } else {
      ++depth_;
      if (track != nullptr) {
        track->Push(options_.queue, next.value()->item, static_cast<uint32_t>(depth_), NowTicks());
      }
      lane.ready.push_back(std::move(*next.value()));
    }
    if (track != nullptr) last_reader_ = track->id();
    ready_.notify_one();
    go_on =
        !lane.ended && lane.ready.size() < lane_capacity_ && !shared_->context->token.cancelled();
  }
  lane.taken = false;
}

Result<ParallelSource::Lane*> ParallelSource::LaneToTake(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (shared_->context->token.cancelled()) return CancelledError();
    bool replaced = false;
    // Once round, and the place where it began again: that may only have used up its turn.
    for (size_t i = 0; i <= cycle_.size(); ++i) {
      auto& lane = cycle_[turn_];
      if (lane != nullptr && taken_ < shared_->spec.block_length) {
        if (!lane->ready.empty() || lane->error != nullptr) return lane.get();
        if (lane->ended) {
          lane = NextFile();
          replaced = replaced || lane != nullptr;
        } else if (shared_->spec.deterministic) {
          break;
        }
      }
      turn_ = (turn_ + 1) % cycle_.size();
      taken_ = 0;
    }
    if (replaced) continue;
    if (std::all_of(cycle_.begin(), cycle_.end(),
                    [](const auto& lane) { return lane == nullptr; })) {
      return static_cast<Lane*>(nullptr);
    }
    times_empty_.fetch_add(1, std::memory_order_relaxed);
    recorder::WaitScope wait(trace::WaitCause::kEmpty, options_.queue);
    ready_.wait(lock);
    wait.SetWaker(last_reader_);
  }
}

// With the lock held. Null where all have had their turn.
std::unique_ptr<ParallelSource::Lane> ParallelSource::NextFile() {
  if (ahead_.empty()) return nullptr;
  auto lane = std::move(ahead_.front());
  ahead_.pop_front();
  OpenAhead();
  work_.notify_one();
  return lane;
}

Element ParallelSource::TakeFrom(Lane& lane) {
  Element element = std::move(lane.ready.front());
  lane.ready.pop_front();
  ++taken_;
  --depth_;
  if (recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
    track->Pop(options_.queue, element.item, static_cast<uint32_t>(depth_), NowTicks());
  }
  // A reader goes on when half a lane is free, so that it is not woken for every element.
  if (lane.ready.size() * 2 <= lane_capacity_ && !lane.taken && !lane.ended) work_.notify_one();
  return element;
}

Result<std::optional<Element>> ParallelSource::Next() {
  std::optional<Element> element;
  {
    std::unique_lock lock(mutex_);
    STALLSCOPE_ASSIGN_OR_RETURN(Lane* const lane, LaneToTake(lock));
    if (lane == nullptr) return std::optional<Element>();
    if (lane->ready.empty()) return *lane->error;
    element = TakeFrom(*lane);
  }
  STALLSCOPE_RETURN_IF_ERROR(PayForElement(shared_->spec, *shared_->context));
  return element;
}

}  // namespace stallscope::pipeline
