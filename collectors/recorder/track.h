// Where a thread writes what it does: the hot path of the recorder.
//
// A Track belongs to one thread at a time. No call here waits, allocates, throws or enters the
// kernel; if the ring is full the event is dropped, counted and placed in time. A Track outlives
// the recording: what is written after Recorder::Stop() is discarded harmlessly.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "analyzer/trace/events.h"
#include "collectors/recorder/ring.h"

namespace stallscope::recorder {

namespace internal {

// What kind of event a slot begins, in the low 8 bits of its second word.
enum class Tag : uint8_t {
  // a: start; b: tag, stage (16 bits), duration (40 bits); c: item
  kWork = 1,
  // a: start; b: tag, cause (3) and queue (13), duration (40); c: waker
  kWait,
  // Of the previous span, after its slot. a: bytes; b: tag; c: CPU ns
  kCost,
  // Of the previous span, which has the duration 0. a: ticks past 40 bits; b: tag
  kDuration,
  // a: time; b: tag, queue (16), depth (32); c: item
  kPush,
  kPop,
  // a: completed; b: tag, stage (16), duration (40); c: item
  kRelease,
  // a: in; b: tag, stage (16); c: out
  kLineage,
  // a: time; b: tag, stage (16), size (32); c: batch | a: last arrival; b: shape
  kBatch,
  // a: item; b: tag, -, epoch (32); c: record | a: offset; b: bytes; c: file
  kElement,
  // a: time; b: tag, stage (16), epoch (32); c: item | a: bytes; b: op
  kCache,
  // a: enqueued; b: tag, direction (8) and memory (8); c: batch | a: start; b: end; c: bytes
  // | a: correlation
  kCopy,
  // a: enqueued; b: tag, -, name (32); c: batch | a: start; b: end; c: correlation | a: graph
  kKernel,
  // a: requested; b: tag, skipped (16), samples (32); c: batch | a: received; b: issued; c: done
  // | a: index
  kStep,
  // a: time; b: tag, -, counter (32); c: the value's bits
  kSample,
  // a: from; b: tag; c: dropped | a: to
  kGap,
  // a: start; b: tag, activity (16), duration (40); c: name, stage + 1 in the upper 32 bits
  kNamed,
};

constexpr uint64_t kMaxShortDuration = (uint64_t{1} << 40) - 1;

constexpr uint64_t Word(Tag tag, uint64_t low = 0, uint64_t high = 0) {
  return static_cast<uint64_t>(tag) | low << 8 | high << 24;
}

}  // namespace internal

class Track {
 public:
  // Made by Recorder only.
  Track(TrackId id, std::shared_ptr<void> recording, Ring* ring)
      : id_(id), ring_(ring), recording_(std::move(recording)) {}

  TrackId id() const { return id_; }

  // A span of work on `item` in `stage`.
  void Work(StageId stage, ItemId item, Ticks start, Ticks end) noexcept {
    PutSpan(internal::Tag::kWork, stage.value & 0xffff, start, end, item.value);
  }
  // The same with the bytes that it moved and the CPU time that it took, if known.
  void Work(StageId stage, ItemId item, Ticks start, Ticks end, uint64_t bytes,
            uint64_t cpu_ns) noexcept {
    PutSpan(internal::Tag::kWork, stage.value & 0xffff, start, end, item.value,
            Slot{bytes, internal::Word(internal::Tag::kCost), cpu_ns});
  }
  // A span in which the thread was blocked for `cause` at `queue` (a queue or a lock), and who woke
  // it, if known.
  void Wait(trace::WaitCause cause, QueueId queue, Ticks start, Ticks end,
            TrackId waker = TrackId::None()) noexcept {
    const uint64_t low = static_cast<uint64_t>(cause) | (uint64_t{queue.value} & 0x1fff) << 3;
    PutSpan(internal::Tag::kWait, low, start, end, waker.value);
  }

  void Push(QueueId queue, ItemId item, uint32_t depth_after, Ticks time) noexcept {
    ring_->Put(time,
               Slot{time, internal::Word(internal::Tag::kPush, queue.value & 0xffff, depth_after),
                    item.value});
  }
  void Pop(QueueId queue, ItemId item, uint32_t depth_after, Ticks time) noexcept {
    ring_->Put(time,
               Slot{time, internal::Word(internal::Tag::kPop, queue.value & 0xffff, depth_after),
                    item.value});
  }
  void Release(StageId stage, ItemId item, Ticks completed, Ticks released) noexcept;
  void Lineage(StageId stage, ItemId in, ItemId out) noexcept;
  void Batch(StageId stage, ItemId batch, uint32_t size, ItemId last_arrival, trace::StringId shape,
             Ticks time) noexcept;
  void Element(const trace::Element& element) noexcept;
  void Cache(StageId stage, trace::CacheOp op, ItemId item, uint32_t epoch, uint64_t bytes,
             Ticks time) noexcept;
  void Sample(CounterId counter, double value, Ticks time) noexcept;

  // A span that has a name of its own: of no stage, or of an op of one.
  void Named(trace::SpanActivity activity, trace::StringId name, Ticks start, Ticks end,
             StageId stage = StageId::None()) noexcept {
    PutSpan(internal::Tag::kNamed, static_cast<uint64_t>(activity), start, end,
            name.value | uint64_t{stage.value + 1} << 32);
  }
  // `count` events between the two times that never reached this thread.
  void Lost(uint64_t count, Ticks from, Ticks to) noexcept { ring_->Lose(count, from, to); }

  // What a device did, and the trainer's steps. The times in the row are ticks, converted by the
  // flusher; the row's own track is ignored in favor of this one.
  void Copy(const trace::Copy& copy) noexcept;
  void Kernel(const trace::Kernel& kernel) noexcept;
  void Step(const trace::Step& step) noexcept;

 private:
  template <class... Cost>
  void PutSpan(internal::Tag tag, uint64_t low, Ticks start, Ticks end, uint64_t item,
               Cost... cost) noexcept {
    const uint64_t duration = end - start;
    if (duration <= internal::kMaxShortDuration) [[likely]] {
      ring_->Put(end, Slot{start, internal::Word(tag, low, duration), item}, cost...);
    } else {
      // Longer than 40 bits; or negative, which is possible with the stamps of two threads: then 0.
      const uint64_t ticks = static_cast<int64_t>(duration) < 0 ? 0 : duration;
      ring_->Put(end, Slot{start, internal::Word(tag, low), item},
                 Slot{ticks, internal::Word(internal::Tag::kDuration), 0}, cost...);
    }
  }

  TrackId id_;
  Ring* ring_;
  std::shared_ptr<void> recording_;  // keeps the ring alive
};

namespace internal {
extern constinit thread_local Track* current_track;
}

// The calling thread's track; null if the thread records nothing.
inline Track* CurrentTrack() { return internal::current_track; }

// A span of work from here to the end of the scope. Costs next to nothing if the thread records
// nothing.
class SpanScope {
 public:
  explicit SpanScope(StageId stage, ItemId item = ItemId::None()) noexcept
      : track_(CurrentTrack()), stage_(stage), item_(item) {
    if (track_ != nullptr) start_ = NowTicks();
  }
  // Also stores the thread's CPU time meanwhile: two system calls, 600 ns each. For work of 100 us
  // and more.
  struct WithCpu {};
  SpanScope(WithCpu, StageId stage, ItemId item) noexcept : SpanScope(stage, item) {
    if (track_ != nullptr) cpu_start_ = ThreadCpuNs();
  }
  ~SpanScope() { End(); }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

  void AddBytes(uint64_t bytes) noexcept { bytes_ += bytes; }

  // Ends this span and starts the next at the same instant: one clock reading instead of two.
  void Next(StageId stage, ItemId item) noexcept {
    if (track_ == nullptr) return;
    const Ticks now = NowTicks();
    Write(now);
    stage_ = stage;
    item_ = item;
    start_ = now;
    bytes_ = 0;
  }

  void End() noexcept {
    if (track_ == nullptr) return;
    Write(NowTicks());
    track_ = nullptr;
  }

 private:
  void Write(Ticks now) noexcept {
    if (cpu_start_ >= 0) [[unlikely]] {
      const int64_t cpu = ThreadCpuNs();
      track_->Work(stage_, item_, start_, now, bytes_, static_cast<uint64_t>(cpu - cpu_start_));
      cpu_start_ = cpu;
    } else if (bytes_ != 0) {
      track_->Work(stage_, item_, start_, now, bytes_, 0);
    } else {
      track_->Work(stage_, item_, start_, now);
    }
  }

  Track* track_;
  StageId stage_;
  ItemId item_;
  Ticks start_ = 0;
  uint64_t bytes_ = 0;
  int64_t cpu_start_ = -1;
};

// A wait from here to the end of the scope.
class WaitScope {
 public:
  WaitScope(trace::WaitCause cause, QueueId queue) noexcept
      : track_(CurrentTrack()), cause_(cause), queue_(queue) {
    if (track_ != nullptr) start_ = NowTicks();
  }
  ~WaitScope() {
    if (track_ != nullptr) track_->Wait(cause_, queue_, start_, NowTicks(), waker_);
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;
  void SetWaker(TrackId waker) noexcept { waker_ = waker; }

 private:
  Track* track_;
  trace::WaitCause cause_;
  QueueId queue_;
  TrackId waker_;
  Ticks start_ = 0;
};

}  // namespace stallscope::recorder
