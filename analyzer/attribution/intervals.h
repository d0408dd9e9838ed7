// Sets of instants as sorted, disjoint, non-empty intervals. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_INTERVALS_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_INTERVALS_H_

#include <cstdint>
#include <vector>

namespace stallscope::attribution {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t ns() const { return end_ns - start_ns; }
  bool operator==(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

// The union, cut to `window`. What is empty or runs backwards counts for nothing.
Intervals UnionWithin(Intervals any_order, Interval window);
int64_t Length(const Intervals& set);
// `from` without `what`.
Intervals Subtract(const Intervals& from, Interval what);
// `from` without all of `what`; both sorted and without overlaps, as UnionWithin gives them.
Intervals SubtractAll(const Intervals& from, const Intervals& what);
Intervals Intersect(const Intervals& a, Interval b);

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_INTERVALS_H_
