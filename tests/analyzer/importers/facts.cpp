#include "tests/analyzer/importers/facts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/paths.h"

namespace stallscope::test {

std::optional<std::vector<RealTrace>> RealTraces(const std::string& folder) {
  const auto corpus = CorpusDir();
  if (!corpus) return std::nullopt;
  std::vector<RealTrace> traces;
  for (const auto& entry : std::filesystem::directory_iterator(*corpus + "/" + folder)) {
    const std::string name = entry.path().filename();
    std::ifstream facts(*corpus + "/facts/" + name + ".json");
    if (!facts) continue;
    traces.push_back({entry.path(), Facts::parse(facts)});
  }
  std::sort(traces.begin(), traces.end(),
            [](const RealTrace& a, const RealTrace& b) { return a.path < b.path; });
  return traces;
}

int64_t UnionNs(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t sum = 0;
  int64_t until = std::numeric_limits<int64_t>::min();
  for (const auto& [start, end] : intervals) {
    if (end > until) sum += end - std::max(start, until);
    until = std::max(until, end);
  }
  return sum;
}

}  // namespace stallscope::test
