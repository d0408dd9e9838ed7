#include "analyzer/importers/chrome/launches.h"

#include <algorithm>
#include <limits>

namespace stallscope::importers::chrome {

void Launches::Close() {
  if (calls_.empty()) return;
  const auto [first, last] = std::minmax_element(
      calls_.begin(), calls_.end(),
      [](const Call& a, const Call& b) { return a.correlation < b.correlation; });
  first_id_ = first->correlation;
  const uint64_t range = last->correlation - first_id_;
  constexpr uint64_t kLeastFull = 8;  // one id in so many
  if (range / kLeastFull <= calls_.size() && range < std::numeric_limits<uint32_t>::max() / 2) {
    by_id_.resize(range + 1);
    for (size_t i = 0; i < calls_.size(); ++i) {
      by_id_[calls_[i].correlation - first_id_] = static_cast<uint32_t>(i + 1);
    }
    return;
  }
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const Call& a, const Call& b) { return a.correlation < b.correlation; });
}

int64_t Launches::StartOf(uint64_t correlation, int64_t work_start_ns) const {
  int64_t start = 0;
  if (!by_id_.empty()) {
    const uint64_t place = correlation - first_id_;
    if (correlation < first_id_ || place >= by_id_.size() || by_id_[place] == 0) return 0;
    start = calls_[by_id_[place] - 1].start_ns;
  } else {
    const auto call =
        std::lower_bound(calls_.begin(), calls_.end(), correlation,
                         [](const Call& a, uint64_t id) { return a.correlation < id; });
    if (call == calls_.end() || call->correlation != correlation) return 0;
    start = call->start_ns;
  }
  return start <= work_start_ns ? start : 0;
}

}  // namespace stallscope::importers::chrome
