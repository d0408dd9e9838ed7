#include "tests/analyzer/attribution/random_runs.h"

#include <array>
#include <string>
#include <utility>

#include "tests/analyzer/attribution/run_builder.h"

namespace stallscope::test {
namespace {

using trace::WaitCause;

class Maker {
 public:
  Maker(Random& random, const RandomShape& shape) : random_(random), shape_(shape) {}

  model::Run Make() {
    ranks_ = random_.OneIn(3) ? 2 : 1;
    items_ = 1 + random_.Below(20);
    b_.run.info.start_ns = random_.OneIn(2) ? -10 : 0;
    b_.run.info.end_ns = random_.OneIn(2) ? shape_.horizon_ns : 0;
    if (shape_.threads) {
      MakeStages();
      MakeThreads();
      MakeBatches();
    }
    MakeDevices();
    MakeSteps();
    if (shape_.threads) MakeCounters();
    return b_.Take();
  }

 private:
  int64_t Time() {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(shape_.horizon_ns) + 20)) - 20;
  }
  int64_t Length(int64_t most) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most)));
  }
  uint64_t Item() { return random_.OneIn(4) ? kNoItem : random_.Below(items_); }
  TrackId AnyTrack() {
    return random_.OneIn(3) || workers_.empty() ? TrackId::None()
                                                : workers_[random_.Below(workers_.size())];
  }
  StageId AnyStage() {
    return random_.OneIn(12) ? StageId::None()
                             : StageId{static_cast<uint32_t>(random_.Below(b_.run.stages.size()))};
  }
  QueueId AnyQueue() {
    return random_.OneIn(8) ? QueueId::None()
                            : QueueId{static_cast<uint32_t>(random_.Below(b_.run.queues.size()))};
  }

  void MakeStages() {
    constexpr std::array<const char*, 7> kKinds = {"source", "map",    "batch",   "shuffle",
                                                   "cache",  "serial", "prefetch"};
    const size_t stages = 1 + random_.Below(5);
    std::vector<StageId> inputs;
    for (size_t s = 0; s < stages; ++s) {
      const StageId id =
          b_.Stage("stage" + std::to_string(s), kKinds[random_.Below(kKinds.size())],
                   static_cast<uint32_t>(random_.Below(5)), !random_.OneIn(3), inputs);
      b_.Queue("queue" + std::to_string(s), random_.Below(6),
               random_.OneIn(6) ? StageId::None() : id);
      inputs = {id};
    }
    b_.Lock("lock");
  }

  void MakeThreads() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      for (uint32_t s = 0; s < b_.run.stages.size(); ++s) {
        const size_t workers = random_.Below(4);
        for (size_t w = 0; w < workers; ++w) {
          workers_.push_back(
              b_.Thread("worker", random_.OneIn(9) ? StageId::None() : StageId{s}, rank));
        }
      }
      trainers_.push_back(b_.Thread("trainer", StageId::None(), rank));
      workers_.push_back(trainers_.back());
    }
    for (const TrackId track : workers_) {
      if (random_.OneIn(10)) continue;  // a thread of which nothing is known
      Fill(track);
      if (random_.OneIn(6)) {
        const int64_t from = Time();
        b_.Gap(track, from, from + Length(shape_.horizon_ns / 4));
      }
    }
  }

  // One span after another, some of them around others.
  void Fill(TrackId track) {
    int64_t now = Time() / 4;
    while (now < shape_.horizon_ns) {
      if (random_.OneIn(3)) now += Length(shape_.horizon_ns / 8) + 1;
      const int64_t end = now + Length(shape_.horizon_ns / 6);
      Span(track, now, end, 2);
      now = end;
      if (shape_.sloppy && random_.OneIn(5)) now -= Length(shape_.horizon_ns / 10);
      if (random_.OneIn(20)) Emit(track, now, now);  // an empty one
      now += random_.OneIn(4) ? 1 : 0;
    }
  }
  void Span(TrackId track, int64_t start, int64_t end, int deeper) {
    int64_t now = start;
    while (deeper > 0 && random_.OneIn(3) && now < end) {
      const int64_t from = now + Length(end - now);
      const int64_t to = from + Length(end - from + 1);
      Span(track, from, to, deeper - 1);
      now = to;
    }
    Emit(track, start, end);
  }
  void Emit(TrackId track, int64_t start, int64_t end) {
    SpanExtras extras;
    extras.item = Item();
    if (random_.OneIn(2)) {
      if (random_.OneIn(3)) extras.cpu = random_.Below(static_cast<uint64_t>(end - start) + 2);
      if (random_.OneIn(3)) extras.bytes = random_.Below(1000);
      b_.Work(track, AnyStage(), start, end, extras);
      return;
    }
    if (random_.OneIn(2)) extras.waker = AnyTrack();
    constexpr std::array<WaitCause, 6> kCauses = {WaitCause::kUnknown, WaitCause::kEmpty,
                                                  WaitCause::kFull,    WaitCause::kIo,
                                                  WaitCause::kDevice,  WaitCause::kLock};
    const WaitCause cause =
        random_.OneIn(2) ? WaitCause::kEmpty : kCauses[random_.Below(kCauses.size())];
    b_.Wait(track, cause, AnyQueue(), start, end, extras);
  }

  void MakeBatches() {
    if (random_.OneIn(3)) return;  // no lineage
    for (uint64_t batch = 0; batch < items_; ++batch) {
      if (random_.OneIn(3)) b_.Batch(batch, random_.Below(items_));
    }
    for (uint64_t i = random_.Below(30); i-- > 0;) {
      b_.Push(AnyQueue(), Time(), static_cast<uint32_t>(random_.Below(6)));
    }
  }

  void MakeDevices() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      const auto devices = static_cast<uint32_t>(random_.Below(4));
      for (uint32_t d = 0; d < devices; ++d) {
        const size_t streams = 1 + random_.Below(3);
        for (size_t s = 0; s < streams; ++s) {
          FillStream(random_.OneIn(4) ? b_.CopyEngine(d, rank) : b_.Stream(d, rank));
        }
      }
    }
  }
  void FillStream(TrackId stream) {
    for (uint64_t i = random_.Below(8); i-- > 0;) {
      const int64_t start = Time();
      const int64_t end = start + Length(shape_.horizon_ns / 6) - (shape_.sloppy ? 3 : 0);
      if (random_.OneIn(3)) {
        b_.Copy(stream, start, end, random_.Below(100));
        continue;
      }
      KernelTimes more;
      if (random_.OneIn(2)) more.enqueued = start - Length(20);
      if (random_.OneIn(4)) more.name = "ncclDevKernel_AllReduce_Sum";
      b_.Kernel(stream, start, end, more);
    }
  }

  void MakeSteps() {
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      int64_t now = Time() / 4;
      const uint64_t steps = random_.Below(9);
      for (uint64_t i = 0; i < steps; ++i) {
        if (random_.OneIn(10)) continue;  // was lost
        const int64_t most = shape_.horizon_ns / 12;
        StepTimes t;
        t.index = shape_.sloppy && random_.OneIn(6) ? random_.Below(5) : i;
        t.requested = now;
        t.received = now + Length(most);
        t.issued = t.received + Length(most);
        // The device may still work when the next batch is asked for.
        t.done = *t.issued + Length(most);
        now = random_.OneIn(3) ? *t.issued : t.done;
        if (random_.OneIn(12)) t.issued = 0;
        if (random_.OneIn(12)) t.done = 0;
        if (shape_.sloppy && random_.OneIn(4)) t.received = Time();
        if (shape_.sloppy && random_.OneIn(4)) now = Time();
        t.batch = shape_.threads ? Item() : kNoItem;
        if (shape_.threads && !random_.OneIn(6)) t.track = trainers_[rank];
        t.samples = static_cast<uint32_t>(random_.Below(4));
        t.rank = rank;
        b_.Step(t);
      }
    }
  }

  void MakeCounters() {
    for (const TrackId track : workers_) {
      if (random_.OneIn(2)) continue;
      const char* const what = random_.OneIn(2) ? "run_wait" : "on_cpu";
      b_.ThreadCounter(track, what, Time(), Time(), static_cast<double>(random_.Below(200)));
    }
  }

  Random& random_;
  const RandomShape shape_;
  RunBuilder b_;
  uint32_t ranks_ = 1;
  uint64_t items_ = 1;
  std::vector<TrackId> workers_;
  std::vector<TrackId> trainers_;
};

}  // namespace

model::Run RandomRun(Random& random, const RandomShape& shape) {
  return Maker(random, shape).Make();
}

}  // namespace stallscope::test
