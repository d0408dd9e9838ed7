// Puts a table into order that several tracks wrote, each in order: what consists of ascending runs
// is merged, which beats a sort by far where the runs are long. Stable. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_MERGE_RUNS_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_MERGE_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stallscope::attribution {

template <class T, class Before>
void MergeRuns(std::vector<T>& values, Before before) {
  std::vector<size_t> bounds = {0};  // where runs begin, and the end
  for (size_t i = 1; i < values.size(); ++i) {
    if (before(values[i], values[i - 1])) bounds.push_back(i);
  }
  if (bounds.size() == 1) return;
  bounds.push_back(values.size());
  std::vector<T> merged(values.size());
  while (bounds.size() > 2) {
    std::vector<size_t> next = {0};
    for (size_t run = 0; run + 1 < bounds.size(); run += 2) {
      const size_t middle = bounds[run + 1];
      const size_t end = run + 2 < bounds.size() ? bounds[run + 2] : middle;
      const auto at = [&](size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
      std::merge(at(bounds[run]), at(middle), at(middle), at(end),
                 merged.begin() + static_cast<std::ptrdiff_t>(bounds[run]), before);
      next.push_back(end);
    }
    values.swap(merged);
    bounds = std::move(next);
  }
}

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_MERGE_RUNS_H_
