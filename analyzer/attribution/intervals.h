// Sets of instants as sorted, disjoint, non-empty intervals; and the merge that sorts what several
// tracks wrote. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stallscope::attribution {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t ns() const { return end_ns - start_ns; }
  bool operator==(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;
constexpr Interval kEver{std::numeric_limits<int64_t>::min() / 2,
                         std::numeric_limits<int64_t>::max() / 2};

// The union, cut to `window`. Empty and backward intervals do not count.
Intervals UnionWithin(Intervals any_order, Interval window);
int64_t Length(const Intervals& set);
// `from` without `what`.
Intervals Subtract(const Intervals& from, Interval what);
// `from` without all of `what`; both sorted and without overlaps, as UnionWithin gives them.
Intervals SubtractAll(const Intervals& from, const Intervals& what);
Intervals Intersect(const Intervals& a, Interval b);

// Sorts a table that several tracks wrote, each in order: ascending runs are merged, which is far
// faster than a sort if the runs are long. Runs of different flushes hardly overlap, and only
// overlaps are moved. Stable.

// Merges [first, middle) and [middle, last); `left` is scratch space for reuse.
template <class T, class Before>
void MergeNeighbors(T* first, T* middle, T* last, std::vector<T>& left, Before before) {
  if (!before(*middle, *(middle - 1))) return;
  // What begins before the right run begins, and what ends after the left one ends, is in place.
  first = std::upper_bound(first, middle, *middle, before);
  last = std::lower_bound(middle, last, *(middle - 1), before);
  left.assign(first, middle);
  const T* from_left = left.data();
  const T* const left_end = from_left + left.size();
  const T* from_right = middle;
  T* to = first;
  while (from_left != left_end && from_right != last) {
    *to++ = before(*from_right, *from_left) ? *from_right++ : *from_left++;
  }
  std::copy(from_left, left_end, to);  // the rest of the right run is in place
}

template <class T, class Before>
void MergeRuns(std::vector<T>& values, Before before) {
  std::vector<size_t> bounds = {0};  // where runs begin, and the end
  for (size_t i = 1; i < values.size(); ++i) {
    if (before(values[i], values[i - 1])) bounds.push_back(i);
  }
  if (bounds.size() == 1) return;
  bounds.push_back(values.size());
  std::vector<T> left;
  while (bounds.size() > 2) {
    std::vector<size_t> next = {0};
    for (size_t run = 0; run + 1 < bounds.size(); run += 2) {
      if (run + 2 >= bounds.size()) {  // one is left over
        next.push_back(bounds[run + 1]);
        break;
      }
      T* const at = values.data();
      MergeNeighbors(at + bounds[run], at + bounds[run + 1], at + bounds[run + 2], left, before);
      next.push_back(bounds[run + 2]);
    }
    bounds = std::move(next);
  }
}

}  // namespace stallscope::attribution
