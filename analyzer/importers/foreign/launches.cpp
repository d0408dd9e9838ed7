#include "analyzer/importers/foreign/launches.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stallscope::importers {
namespace {

using Launch = std::pair<uint64_t, uint32_t>;  // correlation, track: processes count for themselves

Launch LaunchOf(const trace::Kernel& kernel) { return {kernel.correlation, kernel.track.value}; }

}  // namespace

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
      uint32_t& place = by_id_[calls_[i].correlation - first_id_];
      if (place == 0 || calls_[i].start_ns < calls_[place - 1].start_ns) {
        place = static_cast<uint32_t>(i + 1);
      }
    }
    return;
  }
  const auto before = [](const Call& a, const Call& b) {
    return std::pair(a.correlation, a.start_ns) < std::pair(b.correlation, b.start_ns);
  };
  if (!std::is_sorted(calls_.begin(), calls_.end(), before)) {
    std::sort(calls_.begin(), calls_.end(), before);
  }
}

int64_t Launches::StartOf(uint64_t correlation) const {
  if (!by_id_.empty()) {
    const uint64_t place = correlation - first_id_;
    if (correlation < first_id_ || place >= by_id_.size() || by_id_[place] == 0) return 0;
    return calls_[by_id_[place] - 1].start_ns;
  }
  const auto call = std::lower_bound(calls_.begin(), calls_.end(), correlation,
                                     [](const Call& a, uint64_t id) { return a.correlation < id; });
  return call == calls_.end() || call->correlation != correlation ? 0 : call->start_ns;
}

void MarkGraphLaunches(std::vector<trace::Kernel>& kernels) {
  std::vector<Launch> launches;
  launches.reserve(kernels.size());
  for (const trace::Kernel& kernel : kernels) {
    if (kernel.graph != 0) return;
    if (kernel.correlation != 0) launches.push_back(LaunchOf(kernel));
  }
  std::sort(launches.begin(), launches.end());
  std::vector<Launch> several;
  for (auto at = std::adjacent_find(launches.begin(), launches.end()); at != launches.end();
       at = std::adjacent_find(std::upper_bound(at, launches.end(), *at), launches.end())) {
    several.push_back(*at);
  }
  if (several.empty()) return;
  for (trace::Kernel& kernel : kernels) {
    if (std::binary_search(several.begin(), several.end(), LaunchOf(kernel))) {
      kernel.graph = kernel.correlation;
    }
  }
}

}  // namespace stallscope::importers
