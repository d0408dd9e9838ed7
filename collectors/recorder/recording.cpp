#include "collectors/recorder/recording.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "analyzer/trace/limits.h"
#include "collectors/recorder/drain.h"

namespace stallscope::recorder {

Recording::Recording(trace::TraceWriter writer, trace::RunInfo run, const Options& options)
    : options_(options), names_(std::move(run)), writer_(std::move(writer)) {
  builder_.emplace(names_);
}

Recording::~Recording() { Stop(); }

Status Recording::Begin() {
  TopUpSpareRings();
  {
    const std::lock_guard lock(flush_mutex_);
    last_anchor_ = ReadClockAnchor();
    clock_.Add(last_anchor_);
    WriteNewDefinitions();
    WriteChunk();
    if (!first_error_.empty()) {
      return Error{ErrorKind::kRun, first_error_, "", ""};  // it has the place and the remedy
    }
  }
  return flusher_.Start([this] { FlusherLoop(); }, [this](const Error& error) { Fail(error); });
}

// --- Tracks and rings ----------------------------------------------------------------------------

void Recording::TopUpSpareRings() {
  for (;;) {
    {
      const std::lock_guard lock(tracks_mutex_);
      if (spare_rings_.size() >= options_.spare_rings || rings_made_ >= options_.max_rings) return;
      ++rings_made_;
    }
    // Faulting in a ring is slow: not under the lock that NewTrack needs.
    auto ring = std::make_unique<Ring>(options_.ring_slots);
    const std::lock_guard lock(tracks_mutex_);
    if (!ring->ok()) {
      --rings_made_;
      return;
    }
    spare_rings_.push_back(std::move(ring));
  }
}

// With tracks_mutex_ held. Returns a ring that accepts nothing if there is no other.
std::unique_ptr<Ring> Recording::TakeRing() {
  if (stopped_) return std::make_unique<Ring>(0);
  if (!spare_rings_.empty()) {
    std::unique_ptr<Ring> ring = std::move(spare_rings_.back());
    spare_rings_.pop_back();
    return ring;
  }
  if (rings_made_ < options_.max_rings) {
    auto ring = std::make_unique<Ring>(options_.ring_slots);
    if (ring->ok()) {
      ++rings_made_;
      return ring;
    }
  }
  return std::make_unique<Ring>(0);
}

std::shared_ptr<Track> Recording::NewTrack(trace::TrackInfo info) {
  auto channel = std::make_shared<Channel>();
  channel->id = names_.Define(std::move(info));
  {
    const std::lock_guard lock(tracks_mutex_);
    channel->ring = TakeRing();
    if (!stopped_) channels_.push_back(channel);
  }
  auto* track = new Track(channel->id, shared_from_this(), channel->ring.get());
  return std::shared_ptr<Track>(track, [channel](Track* done) {
    channel->retired.store(true, std::memory_order_release);
    delete done;
  });
}

void Recording::Knob(trace::KnobChange change) {
  const std::lock_guard lock(tracks_mutex_);
  if (!stopped_) knobs_.push_back(change);
}

// --- The flusher ---------------------------------------------------------------------------------

bool Recording::AnyRingFilling() {
  const std::lock_guard lock(tracks_mutex_);
  return std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) {
    const Ring& ring = *channel->ring;
    return (ring.Published() - ring.Tail()) * 8 > ring.capacity();
  });
}

void Recording::FlusherLoop() {
  pthread_setname_np(pthread_self(), "sst-flusher");
  int64_t last_flush = MonotonicNs();
  std::unique_lock lock(wake_mutex_);
  while (!stop_flusher_) {
    const int64_t until_flush = last_flush + options_.flush_interval_ns - MonotonicNs();
    wake_.wait_for(lock, std::chrono::nanoseconds(
                             std::clamp(until_flush, int64_t{0}, options_.look_interval_ns)));
    if (stop_flusher_) return;
    lock.unlock();
    if (MonotonicNs() - last_flush >= options_.flush_interval_ns) {
      last_flush = MonotonicNs();
      const std::lock_guard flush_lock(flush_mutex_);
      FlushLocked();
    } else if (AnyRingFilling()) {
      const std::lock_guard flush_lock(flush_mutex_);
      FlushLocked();
    }
    TopUpSpareRings();
    lock.lock();
  }
}

Status Recording::Publish() {
  const std::lock_guard lock(flush_mutex_);
  return writer_.Publish();
}

Status Recording::Flush() {
  const std::lock_guard lock(flush_mutex_);
  if (!sealed_) FlushLocked();
  if (!first_error_.empty()) return Error{ErrorKind::kRun, first_error_, "", ""};
  return {};
}

void Recording::FlushLocked() noexcept {
  LoseWhatThrows([this] { DrainAll(); });
}

// Out of memory, events on their way to the file are lost as if the file were full: counted, with a
// gap, and the recording says why. Events still in their rings stay there.
void Recording::LoseWhatThrows(const std::function<void()>& write) noexcept {
  try {
    write();
  } catch (...) {
    Keep(CaughtError());
    builder_.emplace(names_);
    LoseChunk();
  }
}

void Recording::Keep(const Error& error) noexcept {
  if (!first_error_.empty()) return;
  try {
    first_error_ = error.Line();
  } catch (...) {
    first_error_ = "out of memory";  // short enough to need none
  }
}

void Recording::Fail(const Error& error) {
  const std::lock_guard lock(flush_mutex_);
  Keep(error);
}

void Recording::DrainAll() {
  std::vector<std::shared_ptr<Channel>> channels;
  {
    const std::lock_guard lock(tracks_mutex_);
    channels = channels_;
  }
  // Read retirement before the ring's end: a producer retires after its last event.
  std::vector<std::shared_ptr<Channel>> done;
  std::vector<uint64_t> ends;
  ends.reserve(channels.size());
  for (const auto& channel : channels) {
    if (channel->retired.load(std::memory_order_acquire)) done.push_back(channel);
    ends.push_back(channel->ring->Published());
  }
  // The anchor is taken after the ends: everything drained is before it, so that no later anchor
  // can shift the times written now.
  last_anchor_ = ReadClockAnchor();
  clock_.Add(last_anchor_);
  WriteNewDefinitions();
  WriteKnobs();
  for (const trace::Gap& gap : std::exchange(gaps_to_write_, {})) builder_->Add(gap);
  for (size_t i = 0; i < channels.size(); ++i) DrainChannel(*channels[i], ends[i]);
  RetireChannels(done);
  WriteChunk();
}

void Recording::DrainChannel(Channel& channel, uint64_t until) {
  while (channel.ring->Tail() < until) {
    if (builder_->Full()) WriteChunk();
    const Drained drained = Drain(*channel.ring, until, channel.id, clock_, *builder_);
    channel.drained += drained.events;
    if (drained.events != 0) {
      in_chunk_.push_back({&channel, drained.events, drained.first_ns, drained.last_ns});
    }
  }
}

void Recording::WriteNewDefinitions() {
  const trace::Definitions fresh = names_.TakeNew();
  if (fresh.run) {
    if (!builder_->Empty()) WriteChunk();
    builder_->Define(*fresh.run);
  }
  const auto define = [&](const auto& table) {
    for (const auto& info : table) {
      if (builder_->Full()) WriteChunk();
      builder_->Define(info);
    }
  };
  define(fresh.stages);
  define(fresh.queues);
  define(fresh.tracks);
  define(fresh.counters);
}

void Recording::WriteKnobs() {
  std::vector<trace::KnobChange> knobs;
  {
    const std::lock_guard lock(tracks_mutex_);
    knobs.swap(knobs_);
  }
  for (const trace::KnobChange& knob : knobs) {
    if (builder_->Full()) WriteChunk();
    builder_->Add(knob);
  }
}

void Recording::AddOpenGap(Channel& channel) {
  const Ring::OpenGap gap = channel.ring->Open();
  if (gap.dropped == 0) return;
  if (builder_->Full()) WriteChunk();
  builder_->Add(trace::Gap{clock_.ToNs(gap.from), clock_.ToNs(gap.to), gap.dropped, channel.id});
}

void Recording::RetireChannels(const std::vector<std::shared_ptr<Channel>>& channels) {
  if (channels.empty()) return;
  for (const auto& channel : channels) AddOpenGap(*channel);
  WriteChunk();  // what is not stored after this never will be
  const std::lock_guard lock(tracks_mutex_);
  // No channel may lose its ring because there was no memory for the next one.
  retired_tallies_.reserve(retired_tallies_.size() + channels.size());
  spare_rings_.reserve(spare_rings_.size() + channels.size());
  for (const auto& channel : channels) {
    retired_tallies_.push_back(TallyOf(*channel));
    if (channel->ring->capacity() != 0) {
      channel->ring->Reset();
      spare_rings_.push_back(std::move(channel->ring));
    }
  }
  std::erase_if(channels_, [&](const auto& channel) {
    return std::find(channels.begin(), channels.end(), channel) != channels.end();
  });
}

void Recording::WriteChunk(trace::FrameType type) {
  if (builder_->Empty()) return;
  const trace::Anchor anchor{last_anchor_.ticks, last_anchor_.ns,
                             RealtimeNs() - MonotonicNs() + last_anchor_.ns};
  const Status written = writer_.Append(type, builder_->Finish(anchor));
  if (!written.ok()) {
    Keep(written.error());
    LoseChunk();
  }
  in_chunk_.clear();
}

void Recording::LoseChunk() noexcept {
  for (const InChunk& lost : in_chunk_) lost.channel->lost_in_writing += lost.events;
  try {
    names_.MarkAllNew();
    for (const InChunk& lost : in_chunk_) {
      gaps_to_write_.push_back({lost.first_ns, lost.last_ns, lost.events, lost.channel->id});
    }
  } catch (...) {
    // The tallies still have the number; only the times are unknown.
  }
  in_chunk_.clear();
}

// --- The end -------------------------------------------------------------------------------------

trace::Tally Recording::TallyOf(const Channel& channel) const {
  const uint64_t dropped = channel.ring->Dropped();
  return {channel.id, channel.drained + dropped, channel.drained - channel.lost_in_writing,
          dropped + channel.lost_in_writing};
}

void Recording::WriteSeals(Summary& summary) {
  std::vector<trace::Tally> tallies = std::move(retired_tallies_);
  for (const auto& channel : channels_) tallies.push_back(TallyOf(*channel));
  for (const trace::Tally& tally : tallies) {
    summary.emitted += tally.emitted;
    summary.stored += tally.stored;
    summary.dropped += tally.dropped;
  }
  for (size_t from = 0;; from += trace::kMaxTalliesInSeal) {
    const size_t to = std::min(tallies.size(), from + trace::kMaxTalliesInSeal);
    trace::Seal seal;
    seal.tallies.assign(tallies.begin() + static_cast<std::ptrdiff_t>(from),
                        tallies.begin() + static_cast<std::ptrdiff_t>(to));
    seal.first_error = first_error_;
    if (to == tallies.size()) seal.end_ns = last_anchor_.ns;
    builder_->SetSeal(seal);
    WriteChunk(trace::FrameType::kSeal);
    if (to == tallies.size()) return;
  }
}

void Recording::WriteEnd(Summary& summary) {
  for (const auto& channel : channels_) AddOpenGap(*channel);
  WriteChunk();
  for (const trace::Gap& gap : std::exchange(gaps_to_write_, {})) builder_->Add(gap);
  // All names once more, so that a damaged chunk at the start costs none.
  names_.UpdateRun([&](trace::RunInfo& run) {
    run.end_ns = last_anchor_.ns;
    run.ticks_per_second = clock_.TicksPerSecond();
  });
  names_.MarkAllNew();
  WriteNewDefinitions();
  WriteChunk();
  WriteSeals(summary);
}

Summary Recording::Stop() {
  const std::lock_guard stop_lock(stop_mutex_);
  if (summary_) return *summary_;
  {
    const std::lock_guard lock(wake_mutex_);
    stop_flusher_ = true;
  }
  wake_.notify_all();
  flusher_.Join();
  const std::lock_guard lock(flush_mutex_);
  {
    const std::lock_guard tracks_lock(tracks_mutex_);
    stopped_ = true;
  }
  FlushLocked();
  Summary summary;
  LoseWhatThrows([&] { WriteEnd(summary); });
  sealed_ = true;
  summary.bytes = writer_.size();
  summary.first_error = first_error_;
  summary_ = summary;
  return summary;
}

}  // namespace stallscope::recorder
