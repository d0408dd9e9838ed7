#include "collectors/recorder/recording.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "analyzer/trace/limits.h"
#include "collectors/recorder/drain.h"

namespace stallscope::recorder {
namespace {

// A clock that another core reads may be a little ahead.
constexpr int64_t kClockSlackNs = 1'000'000;
// Of a ring, between two drains: more, and the next drain may come too late. A loader's loop with
// steps of 10 ms writes 1/64 of a ring of 8,192 slots in 100 ms: that is calm.
constexpr uint64_t kCalmShare = 16;

}  // namespace

FileRecording::FileRecording(trace::TraceWriter writer, trace::RunInfo run, const Options& options)
    : Recording(std::move(run)), options_(options), writer_(std::move(writer)) {
  builder_.emplace(names_);
}

FileRecording::~FileRecording() { Stop(); }

Status FileRecording::Begin() {
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

void FileRecording::TopUpSpareRings() {
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
std::unique_ptr<Ring> FileRecording::TakeRing() {
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

std::shared_ptr<Track> FileRecording::NewTrack(trace::TrackInfo info) {
  auto channel = std::make_shared<Channel>();
  channel->id = names_.Define(std::move(info));
  {
    const std::lock_guard lock(tracks_mutex_);
    channel->own = TakeRing();
    if (!stopped_) channels_.push_back(channel);
  }
  auto* track = new Track(channel->id, shared_from_this(), channel->own.get());
  return std::shared_ptr<Track>(track, [channel](Track* done) {
    channel->retired.store(true, std::memory_order_release);
    delete done;
  });
}

std::shared_ptr<void> FileRecording::Adopt(std::unique_ptr<AdoptedRing> ring, TrackId track,
                                           std::shared_ptr<ForeignProcess> process) {
  auto channel = std::make_shared<Channel>();
  channel->id = track;
  channel->adopted = std::move(ring);
  channel->process = std::move(process);
  {
    const std::lock_guard lock(tracks_mutex_);
    if (!stopped_) channels_.push_back(channel);
  }
  return std::shared_ptr<void>(
      channel.get(), [channel](void*) { channel->retired.store(true, std::memory_order_release); });
}

void FileRecording::Knob(trace::KnobChange change) {
  const std::lock_guard lock(tracks_mutex_);
  if (!stopped_) knobs_.push_back(change);
}

void FileRecording::Probe(const trace::Probe& window) {
  const std::lock_guard lock(tracks_mutex_);
  if (!stopped_) probes_.push_back(window);
}

// --- The flusher ---------------------------------------------------------------------------------

bool FileRecording::AnyRingFilling() {
  const std::lock_guard lock(tracks_mutex_);
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->Filling(); });
}

int64_t FileRecording::NextLookNs() const {
  return calm_.load(std::memory_order_relaxed)
             ? std::max(options_.calm_look_interval_ns, options_.look_interval_ns)
             : options_.look_interval_ns;
}

bool FileRecording::Channel::Filling() const {
  if (adopted != nullptr) return adopted->Filling();
  return (own->Published() - own->Tail()) * 8 > own->capacity();
}

void FileRecording::FlusherLoop() {
  pthread_setname_np(pthread_self(), "sst-flusher");
  int64_t last_flush = MonotonicNs();
  std::unique_lock lock(wake_mutex_);
  while (!stop_flusher_) {
    const int64_t until_flush = last_flush + options_.flush_interval_ns - MonotonicNs();
    wake_.wait_for(lock,
                   std::chrono::nanoseconds(std::clamp(until_flush, int64_t{0}, NextLookNs())));
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

StepCount FileRecording::steps() {
  const std::lock_guard lock(flush_mutex_);
  StepCount most;
  for (const auto& [track, steps] : steps_) {
    if (steps.steps > most.steps) most = steps;
  }
  return most;
}

Status FileRecording::Publish() {
  const std::lock_guard lock(flush_mutex_);
  return writer_.Publish();
}

Status FileRecording::Flush() {
  const std::lock_guard lock(flush_mutex_);
  if (!sealed_) FlushLocked();
  if (!first_error_.empty()) return Error{ErrorKind::kRun, first_error_, "", ""};
  return {};
}

void FileRecording::FlushLocked() noexcept {
  LoseWhatThrows([this] { DrainAll(); });
}

// Out of memory, events on their way to the file are lost as if the file were full: counted, with a
// gap, and the recording says why. Events still in their rings stay there.
void FileRecording::LoseWhatThrows(const std::function<void()>& write) noexcept {
  try {
    write();
  } catch (...) {
    Keep(CaughtError());
    builder_.emplace(names_);
    LoseChunk();
  }
}

void FileRecording::Keep(const Error& error) noexcept {
  if (!first_error_.empty()) return;
  try {
    first_error_ = error.Line();
  } catch (...) {
    first_error_ = "out of memory";  // short enough to need none
  }
}

void FileRecording::Fail(const Error& error) {
  const std::lock_guard lock(flush_mutex_);
  Keep(error);
}

void FileRecording::DrainAll() {
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
    const bool retired = channel->retired.load(std::memory_order_acquire);
    if (channel->adopted != nullptr) Pull(*channel, retired);
    if (retired || (channel->adopted != nullptr && channel->adopted->closed())) {
      done.push_back(channel);
    }
    ends.push_back(channel->ring().Published());
  }
  // The anchor is taken after the ends: everything drained is before it, so that no later anchor
  // can shift the times written now.
  last_anchor_ = ReadClockAnchor();
  clock_.Add(last_anchor_);
  WriteNewDefinitions();
  WriteKnobsAndProbes();
  for (const trace::Gap& gap : std::exchange(gaps_to_write_, {})) builder_->Add(gap);
  bool calm = true;
  for (size_t i = 0; i < channels.size(); ++i) {
    const Ring& ring = channels[i]->ring();
    calm = calm && (ends[i] - ring.Tail()) * kCalmShare <= ring.capacity();
    DrainChannel(*channels[i], ends[i]);
  }
  calm_.store(calm, std::memory_order_relaxed);
  RetireChannels(done);
  WriteChunk();
}

// Brings in what another process has published, checked and with our ids.
void FileRecording::Pull(Channel& channel, bool last) {
  AdoptedRing& adopted = *channel.adopted;
  const uint64_t before = channel.ring().Published();
  adopted.Pull(last);
  const uint64_t end = channel.ring().Published();
  if (end == channel.ring().Tail()) return;
  const bool monotonic = adopted.owner().ticks == TickSource::kMonotonic;
  const TickRange range{
      monotonic ? static_cast<Ticks>(begin_ns_) : begin_ticks_,
      (monotonic ? static_cast<Ticks>(MonotonicNs()) : NowTicks()) + kClockSlackNs};
  // Names are read after the events: each was written before the first event that uses it.
  channel.refused += Translate([&](uint64_t index) -> Slot& { return adopted.SlotAt(index); },
                               before, end, channel.process->CatchUp(), range);
}

const ClockMap& FileRecording::ClockOf(const Channel& channel) const {
  const bool monotonic =
      channel.adopted != nullptr && channel.adopted->owner().ticks == TickSource::kMonotonic;
  return monotonic ? monotonic_ : clock_;
}

void FileRecording::DrainChannel(Channel& channel, uint64_t until) {
  Ring& ring = channel.ring();
  const bool any = ring.Tail() < until;
  while (ring.Tail() < until) {
    if (builder_->Full()) WriteChunk();
    const Drained drained = Drain(ring, until, channel.id, ClockOf(channel), *builder_);
    channel.drained += drained.events;
    if (drained.steps.steps != 0) steps_[channel.id].Add(drained.steps);
    if (drained.events != 0) {
      in_chunk_.push_back({&channel, drained.events, drained.first_ns, drained.last_ns});
    }
  }
  if (any && channel.adopted != nullptr) channel.adopted->Push();
}

void FileRecording::WriteNewDefinitions() {
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
  define(fresh.processes);
  define(fresh.loaders);
  define(fresh.ops);
  define(fresh.code_lines);
}

void FileRecording::WriteKnobsAndProbes() {
  std::vector<trace::KnobChange> knobs;
  std::vector<trace::Probe> probes;
  {
    const std::lock_guard lock(tracks_mutex_);
    knobs.swap(knobs_);
    probes.swap(probes_);
  }
  const auto write = [this](const auto& rows) {
    for (const auto& row : rows) {
      if (builder_->Full()) WriteChunk();
      builder_->Add(row);
    }
  };
  write(knobs);
  write(probes);
}

void FileRecording::AddOpenGap(Channel& channel) {
  const Ring::OpenGap gap = channel.ring().Open();
  if (gap.dropped == 0) return;
  if (builder_->Full()) WriteChunk();
  const ClockMap& clock = ClockOf(channel);
  const int64_t from_ns = clock.ToNs(gap.from);
  const int64_t to_ns = clock.ToNs(gap.to);
  // Of another process: the tally has the number, whatever it says of the time.
  if (channel.adopted != nullptr &&
      (from_ns < begin_ns_ || to_ns < from_ns || to_ns > MonotonicNs() + kClockSlackNs)) {
    return;
  }
  builder_->Add(trace::Gap{from_ns, to_ns, gap.dropped, channel.id});
}

void FileRecording::RetireChannels(const std::vector<std::shared_ptr<Channel>>& channels) {
  if (channels.empty()) return;
  for (const auto& channel : channels) AddOpenGap(*channel);
  WriteChunk();  // what is not stored after this never will be
  const std::lock_guard lock(tracks_mutex_);
  // No channel may lose its ring because there was no memory for the next one.
  retired_tallies_.reserve(retired_tallies_.size() + channels.size());
  spare_rings_.reserve(spare_rings_.size() + channels.size());
  for (const auto& channel : channels) {
    retired_tallies_.push_back(TallyOf(*channel));
    if (channel->adopted != nullptr) {
      channel->adopted->Remove();
    } else if (channel->own->capacity() != 0) {
      channel->own->Reset();
      spare_rings_.push_back(std::move(channel->own));
    }
  }
  std::erase_if(channels_, [&](const auto& channel) {
    return std::find(channels.begin(), channels.end(), channel) != channels.end();
  });
}

void FileRecording::WriteChunk(trace::FrameType type) {
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

void FileRecording::LoseChunk() noexcept {
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

trace::Tally FileRecording::TallyOf(const Channel& channel) const {
  const uint64_t dropped = channel.ring().Dropped() + channel.refused +
                           (channel.adopted != nullptr ? channel.adopted->skipped() : 0);
  return {channel.id, channel.drained + dropped, channel.drained - channel.lost_in_writing,
          dropped + channel.lost_in_writing};
}

void FileRecording::WriteSeals(Summary& summary) {
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

void FileRecording::WriteEnd(Summary& summary) {
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

Summary FileRecording::Stop() {
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
