#include "analyzer/importers/foreign/running_totals.h"

#include <algorithm>

namespace stallscope::importers {

void AddTotals(const std::string& name, std::vector<Occurrence> all, RunBuilder& builder) {
  if (all.empty()) return;
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const CounterId counts = builder.Counter(name);
  const CounterId times = builder.Counter(name + " time", "ns");
  double count = 0;
  double ns = 0;
  for (const Occurrence& one : all) {
    builder.Add(trace::Sample{one.start_ns, ++count, counts});
    builder.Add(trace::Sample{one.start_ns, ns += static_cast<double>(one.ns), times});
  }
}

}  // namespace stallscope::importers
