#include "analyzer/attribution/intervals.h"

#include <algorithm>

namespace stallscope::attribution {

Intervals UnionWithin(Intervals any_order, Interval window) {
  Intervals cut;
  cut.reserve(any_order.size());
  for (const Interval& interval : any_order) {
    const Interval part{std::max(interval.start_ns, window.start_ns),
                        std::min(interval.end_ns, window.end_ns)};
    if (part.start_ns < part.end_ns) cut.push_back(part);
  }
  MergeRuns(cut, [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  size_t kept = 0;
  for (const Interval& part : cut) {
    if (kept > 0 && part.start_ns <= cut[kept - 1].end_ns) {
      cut[kept - 1].end_ns = std::max(cut[kept - 1].end_ns, part.end_ns);
    } else {
      cut[kept++] = part;
    }
  }
  cut.resize(kept);
  return cut;
}

int64_t Length(const Intervals& set) {
  int64_t ns = 0;
  for (const Interval& interval : set) ns += interval.ns();
  return ns;
}

Intervals Subtract(const Intervals& from, Interval what) {
  if (what.ns() <= 0) return from;
  Intervals rest;
  for (const Interval& interval : from) {
    const int64_t before = std::min(interval.end_ns, what.start_ns);
    const int64_t after = std::max(interval.start_ns, what.end_ns);
    if (what.end_ns <= interval.start_ns || what.start_ns >= interval.end_ns) {
      rest.push_back(interval);
      continue;
    }
    if (interval.start_ns < before) rest.push_back({interval.start_ns, before});
    if (after < interval.end_ns) rest.push_back({after, interval.end_ns});
  }
  return rest;
}

Intervals SubtractAll(const Intervals& from, const Intervals& what) {
  Intervals rest;
  size_t next = 0;
  for (const Interval& interval : from) {
    int64_t start = interval.start_ns;
    while (next < what.size() && what[next].end_ns <= start) ++next;
    for (size_t i = next; i < what.size() && what[i].start_ns < interval.end_ns; ++i) {
      if (start < what[i].start_ns) rest.push_back({start, what[i].start_ns});
      start = std::max(start, what[i].end_ns);
    }
    if (start < interval.end_ns) rest.push_back({start, interval.end_ns});
  }
  return rest;
}

Intervals Intersect(const Intervals& a, Interval b) {
  Intervals both;
  for (const Interval& interval : a) {
    const Interval part{std::max(interval.start_ns, b.start_ns),
                        std::min(interval.end_ns, b.end_ns)};
    if (part.start_ns < part.end_ns) both.push_back(part);
  }
  return both;
}

}  // namespace stallscope::attribution
