#include "collectors/recorder/translate.h"

#include <algorithm>

#include "collectors/recorder/track.h"

namespace stallscope::recorder {
namespace {

using internal::Tag;

constexpr uint64_t kNoStage = 0xffff;
constexpr uint64_t kNoWaitQueue = 0x1fff;
constexpr uint64_t kNoString = 0xffffffff;
constexpr uint64_t kMost32 = 0xffffffff;
constexpr int kItemLoaderShift = 48;

Tag TagIn(const Slot& slot) { return static_cast<Tag>(slot.b & 0xff); }
uint64_t LowIn(const Slot& slot) { return slot.b >> 8 & 0xffff; }
uint64_t HighIn(const Slot& slot) { return slot.b >> 24; }
void SetLow(Slot& slot, uint64_t low) { slot.b = (slot.b & ~(uint64_t{0xffff} << 8)) | low << 8; }
void SetHigh(Slot& slot, uint64_t high) { slot.b = (slot.b & 0xffffff) | high << 24; }

uint64_t SlotsOf(Tag tag) {
  switch (tag) {
    case Tag::kBatch:
    case Tag::kElement:
    case Tag::kCache:
    case Tag::kGap:
      return 2;
    case Tag::kCopy:
    case Tag::kKernel:
    case Tag::kStep:
      return 3;
    default:
      return 1;
  }
}

// The number in `known` at `local`; false where it has no name.
template <class Id>
bool Map(uint64_t local, const std::vector<Id>& known, uint64_t& to) {
  if (local >= known.size() || !known[local].known()) return false;
  to = known[local].value;
  return true;
}

class Translator {
 public:
  Translator(const SlotAt& slots, const IdMap& ids, TickRange range)
      : slots_(slots), ids_(ids), range_(range) {}

  uint64_t Run(uint64_t from, uint64_t to) {
    uint64_t refused = 0;
    while (from < to) {
      const uint64_t length = LengthAt(from, to);
      if (!Accept(from, length, to)) {
        for (uint64_t i = from; i < std::min(from + length, to); ++i) slots_(i).b = 0;
        ++refused;
      }
      from += length;
    }
    return refused;
  }

 private:
  // With the slots that follow an event's own.
  uint64_t LengthAt(uint64_t at, uint64_t to) const {
    const Slot& slot = slots_(at);
    uint64_t length = SlotsOf(TagIn(slot));
    const auto follows = [&](Tag tag) {
      return at + length < to && TagIn(slots_(at + length)) == tag;
    };
    switch (TagIn(slot)) {
      case Tag::kWork:
      case Tag::kWait:
      case Tag::kNamed:
      case Tag::kRelease:
        if (follows(Tag::kDuration)) ++length;
        if (TagIn(slot) != Tag::kRelease && follows(Tag::kCost)) ++length;
        return length;
      default:
        return length;
    }
  }

  bool IsTime(Ticks time) const { return time >= range_.first && time <= range_.last; }

  bool IsSpan(uint64_t at, uint64_t length) const {
    const Slot& slot = slots_(at);
    uint64_t duration = HighIn(slot);
    if (length > 1 && TagIn(slots_(at + 1)) == Tag::kDuration) {
      if (duration != 0) return false;
      duration = slots_(at + 1).a;
    }
    return IsTime(slot.a) && duration <= range_.last - slot.a;
  }

  bool MapStage(Slot& slot) const {
    uint64_t stage = kNoStage;
    if (LowIn(slot) != kNoStage && !Map(LowIn(slot), ids_.stages, stage)) return false;
    SetLow(slot, stage & kNoStage);
    return true;
  }

  // A string, or none.
  bool MapString(uint64_t& string) const {
    return string == kNoString || Map(string, ids_.strings, string);
  }

  // The loader's part of an item's number; a process without loaders has numbers of its own.
  bool MapItem(uint64_t& item) const {
    if (item == ItemId::None().value) return true;
    if (item >> 63 != 0) return false;
    if (ids_.loaders.empty()) return true;
    uint64_t loader = 0;
    if (!Map(item >> kItemLoaderShift, ids_.loaders, loader)) return false;
    item = (item & ((uint64_t{1} << kItemLoaderShift) - 1)) | (loader & 0x7fff) << kItemLoaderShift;
    return true;
  }

  bool MapWait(Slot& slot) const {
    const uint64_t cause = LowIn(slot) & 7;
    uint64_t queue = LowIn(slot) >> 3;
    if (cause > static_cast<uint64_t>(trace::WaitCause::kStartup)) return false;
    if (queue != kNoWaitQueue && !Map(queue, ids_.queues, queue)) return false;
    SetLow(slot, cause | (queue & kNoWaitQueue) << 3);
    const uint64_t waker = slot.c;
    return waker == TrackId::None().value || Map(waker, ids_.tracks, slot.c);
  }

  bool MapNamed(Slot& slot) const {
    if (LowIn(slot) > static_cast<uint64_t>(trace::SpanActivity::kEvaluation)) return false;
    uint64_t name = slot.c & kMost32;
    uint64_t stage_plus_1 = slot.c >> 32;
    if (!MapString(name)) return false;
    if (stage_plus_1 != 0) {
      if (!Map(stage_plus_1 - 1, ids_.stages, stage_plus_1)) return false;
      stage_plus_1 = (stage_plus_1 + 1) & kMost32;
    }
    slot.c = name | stage_plus_1 << 32;
    return true;
  }

  bool MapQueueEvent(Slot& slot) const {
    uint64_t queue = 0;
    if (!Map(LowIn(slot), ids_.queues, queue) || queue > 0xffff || HighIn(slot) > kMost32) {
      return false;
    }
    SetLow(slot, queue & 0xffff);
    return IsTime(slot.a) && MapItem(slot.c);
  }

  bool MapKernel(Slot& slot, const Slot& times) const {
    uint64_t name = HighIn(slot);
    if (name > kMost32 || !MapString(name)) return false;
    SetHigh(slot, name);
    return IsTime(slot.a) && IsTime(times.a) && IsTime(times.b) && MapItem(slot.c);
  }

  bool MapSample(Slot& slot) const {
    uint64_t counter = 0;
    if (!IsTime(slot.a) || !Map(HighIn(slot), ids_.counters, counter)) return false;
    SetHigh(slot, counter);
    return true;
  }

  bool MapBatch(Slot& slot, Slot& more) const {
    return HighIn(slot) <= kMost32 && IsTime(slot.a) && MapStage(slot) && MapItem(slot.c) &&
           MapItem(more.a) && MapString(more.b);
  }

  bool IsCopy(Slot& slot, const Slot& times) const {
    return (LowIn(slot) & 0xff) <= static_cast<uint64_t>(trace::CopyDirection::kDeviceToDevice) &&
           LowIn(slot) >> 8 <= static_cast<uint64_t>(trace::CopyMemory::kPageable) &&
           IsTime(slot.a) && IsTime(times.a) && IsTime(times.b) && MapItem(slot.c);
  }

  bool Accept(uint64_t at, uint64_t length, uint64_t to) const {
    if (at + length > to) return false;
    Slot& slot = slots_(at);
    switch (TagIn(slot)) {
      case Tag::kWork:
        return IsSpan(at, length) && MapStage(slot) && MapItem(slot.c);
      case Tag::kWait:
        return IsSpan(at, length) && MapWait(slot);
      case Tag::kNamed:
        return IsSpan(at, length) && MapNamed(slot);
      case Tag::kRelease:
        return IsSpan(at, length) && MapStage(slot) && MapItem(slot.c);
      case Tag::kPush:
      case Tag::kPop:
        return MapQueueEvent(slot);
      case Tag::kLineage:
        return MapStage(slot) && MapItem(slot.a) && MapItem(slot.c);
      case Tag::kBatch:
        return MapBatch(slot, slots_(at + 1));
      case Tag::kElement:
        return HighIn(slot) <= kMost32 && MapItem(slot.a) && MapString(slots_(at + 1).c);
      case Tag::kCache:
        return HighIn(slot) <= kMost32 && IsTime(slot.a) && MapStage(slot) && MapItem(slot.c) &&
               slots_(at + 1).b <= static_cast<uint64_t>(trace::CacheOp::kFill);
      case Tag::kCopy:
        return IsCopy(slot, slots_(at + 1));
      case Tag::kKernel:
        return MapKernel(slot, slots_(at + 1));
      case Tag::kStep: {
        const Slot& times = slots_(at + 1);
        return HighIn(slot) <= kMost32 && IsTime(slot.a) && IsTime(times.a) && IsTime(times.b) &&
               IsTime(times.c) && MapItem(slot.c);
      }
      case Tag::kSample:
        return MapSample(slot);
      case Tag::kGap:
        return IsTime(slot.a) && IsTime(slots_(at + 1).a);
      case Tag::kCost:
      case Tag::kDuration:
        break;  // they follow nothing
    }
    return false;
  }

  const SlotAt& slots_;
  const IdMap& ids_;
  const TickRange range_;
};

}  // namespace

uint64_t Translate(const SlotAt& slots, uint64_t from, uint64_t to, const IdMap& ids,
                   TickRange range) {
  return Translator(slots, ids, range).Run(from, to);
}

}  // namespace stallscope::recorder
