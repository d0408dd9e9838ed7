// The numbers that identify a run's things. Each kind is a type of its own, so that a stage's
// number is never mistaken for a queue's. `kNone` means "unknown".
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace stallscope {

template <class Kind, class Number>
struct Id {
  Number value = std::numeric_limits<Number>::max();

  static constexpr Id None() { return Id{}; }
  constexpr bool known() const { return value != std::numeric_limits<Number>::max(); }
  constexpr auto operator<=>(const Id&) const = default;
};

using StageId = Id<struct StageKind, uint32_t>;
using QueueId = Id<struct QueueKind, uint32_t>;
using TrackId = Id<struct TrackKind, uint32_t>;
using CounterId = Id<struct CounterKind, uint32_t>;
using ProcessId = Id<struct ProcessKind, uint32_t>;
using LoaderId = Id<struct LoaderKind, uint32_t>;

// Elements and batches share one space of numbers: a span is about one or the other, and its stage
// tells which. The source numbers elements, the batch stage batches.
using ItemId = Id<struct ItemKind, uint64_t>;

}  // namespace stallscope

template <class Kind, class Number>
struct std::hash<stallscope::Id<Kind, Number>> {
  size_t operator()(const stallscope::Id<Kind, Number>& id) const noexcept {
    return std::hash<Number>()(id.value);
  }
};
