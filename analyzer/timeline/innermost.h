// One track's spans as disjoint parts: each instant to the innermost span. Private to the room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/timeline/timeline.h"

namespace stallscope::timeline {

// Walks spans sorted by their ends: an enclosing span comes after those inside it and gets the time
// that they leave.
class Innermost {
 public:
  // Calls emit(start, end) for each part of the span that no earlier span has taken.
  template <class Emit>
  void Add(int64_t start_ns, int64_t end_ns, Emit&& emit) {
    int64_t free_until = end_ns;  // from the right: the time before it is not assigned yet
    while (!taken_.empty() && taken_.back().end_ns > start_ns) {
      const Interval inner = taken_.back();
      if (inner.end_ns < free_until) emit(inner.end_ns, free_until);
      free_until = std::min(free_until, inner.start_ns);
      if (inner.start_ns < start_ns) break;  // overlaps without being inside: it stays
      taken_.pop_back();
    }
    if (start_ns < free_until) emit(start_ns, free_until);
    // One interval since the earliest start replaces the spans inside it. Adjacent ones are merged,
    // too: a thread that alternately works and waits is kept as a few long stretches.
    if (!taken_.empty() && taken_.back().end_ns >= start_ns) {
      taken_.back().end_ns = std::max(taken_.back().end_ns, end_ns);
    } else if (start_ns < end_ns) {
      taken_.push_back({start_ns, end_ns});
    }
  }

 private:
  std::vector<Interval> taken_;  // disjoint, ascending
};

}  // namespace stallscope::timeline
