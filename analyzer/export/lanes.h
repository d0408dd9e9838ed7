// Deals a track's intervals out to lanes, in each of which any two intervals are either apart or
// one inside the other: what a viewer needs to draw them as a stack. A thread's intervals fit into
// one lane; a device's may overlap.
#ifndef STALLSCOPE_ANALYZER_EXPORT_LANES_H_
#define STALLSCOPE_ANALYZER_EXPORT_LANES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace stallscope::exporting {

class Lanes {
 public:
  // The lane, from 0. Intervals must come by ascending start, of equal ones the longest first.
  size_t Place(int64_t start_ns, int64_t end_ns);

 private:
  // The first few lanes take nested intervals. Past them a lane takes one interval after another,
  // found through a heap of their ends: any number of overlaps then costs no more than a sort.
  static constexpr size_t kNestingLanes = 8;
  std::vector<std::vector<int64_t>> open_ends_;  // of a nesting lane: what encloses the next
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> flat_lanes_;
  size_t lanes_ = 0;
};

}  // namespace stallscope::exporting

#endif  // STALLSCOPE_ANALYZER_EXPORT_LANES_H_
