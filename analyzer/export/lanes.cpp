#include "analyzer/export/lanes.h"

namespace stallscope::exporting {

size_t Lanes::Place(int64_t start_ns, int64_t end_ns) {
  for (size_t lane = 0; lane < open_ends_.size(); ++lane) {
    std::vector<int64_t>& open = open_ends_[lane];
    while (!open.empty() && open.back() <= start_ns) open.pop_back();
    if (open.empty() || end_ns <= open.back()) {
      open.push_back(end_ns);
      return lane;
    }
  }
  if (open_ends_.size() < kNestingLanes) {
    open_ends_.push_back({end_ns});
    return lanes_++;
  }
  size_t lane = lanes_;
  if (!flat_lanes_.empty() && flat_lanes_.top().first <= start_ns) {
    lane = flat_lanes_.top().second;
    flat_lanes_.pop();
  } else {
    ++lanes_;
  }
  flat_lanes_.emplace(end_ns, lane);
  return lane;
}

}  // namespace stallscope::exporting
