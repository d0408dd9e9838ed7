#include "analyzer/importers/foreign/graph_launches.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stallscope::importers {
namespace {

using Launch = std::pair<uint64_t, uint32_t>;  // correlation, track: processes count for themselves

Launch LaunchOf(const trace::Kernel& kernel) { return {kernel.correlation, kernel.track.value}; }

}  // namespace

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
