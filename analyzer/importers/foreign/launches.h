// When the host launched what a device knows by a correlation number. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_LAUNCHES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_LAUNCHES_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stallscope::importers {

class Launches {
 public:
  static constexpr uint64_t kLaunchBytes = 16;

  void Add(uint64_t correlation, int64_t start_ns) { starts_.emplace_back(correlation, start_ns); }
  // Call it once, behind the last Add.
  void Sort() {
    if (!std::is_sorted(starts_.begin(), starts_.end())) std::sort(starts_.begin(), starts_.end());
  }
  // 0: not known. Of a launch that two layers of the run-time tell of, the first one counts.
  int64_t StartOf(uint64_t correlation) const {
    const auto at = std::lower_bound(starts_.begin(), starts_.end(), correlation,
                                     [](const auto& a, uint64_t b) { return a.first < b; });
    return at == starts_.end() || at->first != correlation ? 0 : at->second;
  }

 private:
  std::vector<std::pair<uint64_t, int64_t>> starts_;
};

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_LAUNCHES_H_
