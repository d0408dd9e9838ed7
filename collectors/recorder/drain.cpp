#include "collectors/recorder/drain.h"

#include <algorithm>
#include <array>
#include <bit>

#include "analyzer/trace/events.h"
#include "collectors/recorder/track.h"

namespace stallscope::recorder {
namespace {

using internal::Tag;

constexpr uint64_t kLowMask = 0xffff;

StageId StageOf(const Slot& slot) {
  const uint64_t low = slot.b >> 8 & kLowMask;
  return low == kLowMask ? StageId::None() : StageId{static_cast<uint32_t>(low)};
}
uint32_t HighOf(const Slot& slot) { return static_cast<uint32_t>(slot.b >> 24); }

class Drainer {
 public:
  Drainer(Ring& ring, TrackId track, const ClockMap& clock, trace::ChunkBuilder& builder)
      : ring_(ring), track_(track), clock_(clock), builder_(builder) {}

  Drained Run(uint64_t until) {
    at_ = ring_.Tail();
    while (at_ < until && !builder_.Full()) TakeEvent(until);
    ring_.Release(at_);
    return drained_;
  }

 private:
  const Slot& Next() { return ring_.At(at_++); }
  bool NextIs(Tag tag, uint64_t until) const {
    return at_ < until && static_cast<Tag>(ring_.At(at_).b & 0xff) == tag;
  }

  int64_t Ns(Ticks ticks) const { return clock_.ToNs(ticks); }

  void Count(int64_t from_ns, int64_t to_ns) {
    drained_.first_ns = drained_.events == 0 ? from_ns : std::min(drained_.first_ns, from_ns);
    drained_.last_ns = drained_.events == 0 ? to_ns : std::max(drained_.last_ns, to_ns);
    ++drained_.events;
  }

  void TakeEvent(uint64_t until) {
    const Slot& slot = Next();
    switch (static_cast<Tag>(slot.b & 0xff)) {
      case Tag::kWork:
      case Tag::kWait:
        return TakeSpan(slot, until);
      case Tag::kNamed:
        return TakeNamed(slot, until);
      case Tag::kPush:
      case Tag::kPop:
        return TakeQueueEvent(slot);
      case Tag::kRelease:
        return TakeRelease(slot, until);
      case Tag::kLineage:
        builder_.Add(trace::Lineage{ItemId{slot.a}, ItemId{slot.c}, StageOf(slot)});
        return Count(drained_.last_ns, drained_.last_ns);
      case Tag::kBatch:
        return TakeBatch(slot, Next());
      case Tag::kElement:
        return TakeElement(slot, Next());
      case Tag::kCache:
        return TakeCache(slot, Next());
      case Tag::kCopy:
        return TakeCopy(slot);
      case Tag::kKernel:
        return TakeKernel(slot);
      case Tag::kStep:
        return TakeStep(slot);
      case Tag::kSample:
        builder_.Add(
            trace::Sample{Ns(slot.a), std::bit_cast<double>(slot.c), CounterId{HighOf(slot)}});
        return Count(Ns(slot.a), Ns(slot.a));
      case Tag::kGap:
        // Not an event: the producer has counted its own losses.
        builder_.Add(trace::Gap{Ns(slot.a), Ns(Next().a), slot.c, track_});
        return;
      case Tag::kCost:
      case Tag::kDuration:
        return;  // taken with their span
    }
  }

  // The end of a span, whose length may stand in a slot of its own.
  Ticks EndOf(const Slot& slot, uint64_t until) {
    if (NextIs(Tag::kDuration, until)) return slot.a + Next().a;
    return slot.a + (slot.b >> 24);
  }

  // A slot's tag and low bits determine its class.
  uint32_t ClassOf(const Slot& slot) {
    const auto key = static_cast<uint32_t>(slot.b & 0xffffff);
    CachedClass& cached = classes_[(key ^ key >> 8) % classes_.size()];
    if (cached.key != key) cached = {key, builder_.ClassNumber(MakeClass(slot))};
    return cached.number;
  }

  static trace::SpanClass MakeClass(const Slot& slot) {
    if (static_cast<Tag>(slot.b & 0xff) == Tag::kWork) {
      return {trace::SpanKind::kWork, StageOf(slot), {}, {}};
    }
    const uint64_t low = slot.b >> 8 & kLowMask;
    const uint64_t queue = low >> 3;
    return {trace::SpanKind::kWait,
            {},
            static_cast<trace::WaitCause>(low & 7),
            queue == 0x1fff ? QueueId::None() : QueueId{static_cast<uint32_t>(queue)}};
  }

  void TakeSpan(const Slot& slot, uint64_t until) {
    const bool work = static_cast<Tag>(slot.b & 0xff) == Tag::kWork;
    const int64_t start_ns = Ns(slot.a);
    const int64_t end_ns = Ns(EndOf(slot, until));
    builder_.AddSpan(track_, ClassOf(slot), start_ns, end_ns,
                     work ? ItemId{slot.c} : ItemId::None());
    if (!work) builder_.AddWaker(TrackId{static_cast<uint32_t>(slot.c)});
    TakeCost(until);
    Count(start_ns, end_ns);
  }

  void TakeCost(uint64_t until) {
    if (!NextIs(Tag::kCost, until)) return;
    const Slot& cost = Next();
    builder_.AddCost(cost.a, cost.c);
  }

  void TakeNamed(const Slot& slot, uint64_t until) {
    trace::SpanClass named;
    named.name = trace::StringId{static_cast<uint32_t>(slot.c)};
    named.stage = StageId{static_cast<uint32_t>(slot.c >> 32) - 1};
    named.activity = static_cast<trace::SpanActivity>(slot.b >> 8 & kLowMask);
    const int64_t start_ns = Ns(slot.a);
    const int64_t end_ns = Ns(EndOf(slot, until));
    builder_.AddSpan(track_, named, start_ns, end_ns, ItemId::None());
    TakeCost(until);
    Count(start_ns, end_ns);
  }

  void TakeQueueEvent(const Slot& slot) {
    const bool push = static_cast<Tag>(slot.b & 0xff) == Tag::kPush;
    const int64_t ns = Ns(slot.a);
    builder_.Add(trace::QueueEvent{
        ns, ItemId{slot.c}, QueueId{static_cast<uint32_t>(slot.b >> 8 & kLowMask)}, track_,
        HighOf(slot), push ? trace::QueueOp::kPush : trace::QueueOp::kPop});
    Count(ns, ns);
  }

  void TakeRelease(const Slot& slot, uint64_t until) {
    const int64_t completed_ns = Ns(slot.a);
    const int64_t released_ns = Ns(EndOf(slot, until));
    builder_.Add(trace::Release{completed_ns, released_ns, ItemId{slot.c}, StageOf(slot)});
    Count(completed_ns, released_ns);
  }

  void TakeBatch(const Slot& slot, const Slot& more) {
    const int64_t ns = Ns(slot.a);
    builder_.Add(trace::Batch{ns, ItemId{slot.c}, ItemId{more.a}, StageOf(slot), HighOf(slot),
                              trace::StringId{static_cast<uint32_t>(more.b)}});
    Count(ns, ns);
  }

  void TakeElement(const Slot& slot, const Slot& more) {
    builder_.Add(trace::Element{ItemId{slot.a}, slot.c, more.a, more.b,
                                trace::StringId{static_cast<uint32_t>(more.c)}, HighOf(slot)});
    Count(drained_.last_ns, drained_.last_ns);
  }

  void TakeCache(const Slot& slot, const Slot& more) {
    const int64_t ns = Ns(slot.a);
    builder_.Add(trace::CacheEvent{ns, ItemId{slot.c}, more.a, StageOf(slot), HighOf(slot),
                                   static_cast<trace::CacheOp>(more.b)});
    Count(ns, ns);
  }

  void TakeCopy(const Slot& slot) {
    const Slot& times = Next();
    const Slot& more = Next();
    const trace::Copy copy{Ns(slot.a),
                           Ns(times.a),
                           Ns(times.b),
                           ItemId{slot.c},
                           times.c,
                           more.a,
                           track_,
                           static_cast<trace::CopyDirection>(slot.b >> 8 & 0xff),
                           static_cast<trace::CopyMemory>(slot.b >> 16 & 0xff)};
    builder_.Add(copy);
    Count(copy.enqueued_ns, copy.end_ns);
  }

  void TakeKernel(const Slot& slot) {
    const Slot& times = Next();
    const Slot& more = Next();
    const trace::Kernel kernel{Ns(slot.a), Ns(times.a), Ns(times.b), ItemId{slot.c},
                               times.c,    more.a,      track_,      trace::StringId{HighOf(slot)}};
    builder_.Add(kernel);
    Count(kernel.enqueued_ns, kernel.end_ns);
  }

  void TakeStep(const Slot& slot) {
    const Slot& times = Next();
    const Slot& more = Next();
    const trace::Step step{
        more.a,      Ns(slot.a),   Ns(times.a),
        Ns(times.b), Ns(times.c),  ItemId{slot.c},
        track_,      HighOf(slot), static_cast<uint32_t>(slot.b >> 8 & kLowMask)};
    builder_.Add(step);
    StepCount& steps = drained_.steps;
    if (steps.steps++ == 0) steps.first_ns = step.requested_ns;
    steps.last_ns = step.device_done_ns;
    steps.waited_ns += step.received_ns - step.requested_ns;
    steps.all_ns += step.device_done_ns - step.requested_ns;
    Count(step.requested_ns, step.device_done_ns);
  }

  struct CachedClass {
    uint32_t key = 0;  // no slot of a span has 0
    uint32_t number = 0;
  };

  std::array<CachedClass, 64> classes_{};
  Ring& ring_;
  TrackId track_;
  const ClockMap& clock_;
  trace::ChunkBuilder& builder_;
  uint64_t at_ = 0;
  Drained drained_;
};

}  // namespace

Drained Drain(Ring& ring, uint64_t until, TrackId track, const ClockMap& clock,
              trace::ChunkBuilder& builder) {
  return Drainer(ring, track, clock, builder).Run(until);
}

}  // namespace stallscope::recorder
