#include "collectors/trainer/feed.h"

#include <utility>

#include "collectors/recorder/track.h"

namespace stallscope::trainer {

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

// False: there is nobody left to load for.
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
