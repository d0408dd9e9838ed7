// Distributes a track's intervals over lanes so that any two in a lane are either disjoint or
// nested, as a viewer needs to draw them as a stack. A thread's intervals fit into one lane; a
// device's may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace stallscope::exporting {

class Lanes {
 public:
  // Returns the lane, from 0. Intervals must come by ascending start, the longest first among equal
  // ones.
  size_t Place(int64_t start_ns, int64_t end_ns);

 private:
  // The first few lanes take nested intervals. The lanes after them hold disjoint intervals only,
  // and are found through a heap of their ends, so any number of overlaps costs no more than a
  // sort.
  static constexpr size_t kNestingLanes = 8;
  std::vector<std::vector<int64_t>> open_ends_;  // of a nesting lane: what encloses the next
  using End = std::pair<int64_t, size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> flat_lanes_;
  size_t lanes_ = 0;
};

}  // namespace stallscope::exporting
