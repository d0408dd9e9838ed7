// Row 24: one rank is slower in its own work, and the others wait for it in every reduction.
#include <algorithm>
#include <map>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::slow_rank {
namespace {

// A rank's own time per step, on average: all but waiting for the others.
std::map<uint32_t, double> OwnNs(const Case& c) {
  std::map<uint32_t, double> sums;
  std::map<uint32_t, double> counts;
  for (const auto& step : c.attribution.steps) {
    const int64_t own = step.end_ns - step.start_ns - step.ns[At(Category::kCommunication)];
    sums[step.rank] += static_cast<double>(own);
    counts[step.rank] += 1;
  }
  for (auto& [rank, sum] : sums) sum /= counts[rank];
  return sums;
}

// Ranks that wait for one another in every step take the same time for it. The trainers of a job
// may have nothing to do with one another.
bool KeepPace(const Case& c) {
  std::map<uint32_t, std::pair<double, double>> steps;  // time, count
  for (const auto& step : c.attribution.steps) {
    steps[step.rank].first += static_cast<double>(step.end_ns - step.start_ns);
    steps[step.rank].second += 1;
  }
  double least = 0;
  double most = 0;
  for (const auto& [rank, sums] : steps) {
    const double mean = sums.first / sums.second;
    least = rank == steps.begin()->first ? mean : std::min(least, mean);
    most = std::max(most, mean);
  }
  return most < kSlowRank * least;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const std::map<uint32_t, double> own = OwnNs(c);
  if (own.size() < 2 || c.verdict.bound == Bound::kInconclusive) return;
  const auto slowest = std::max_element(
      own.begin(), own.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<double> others;
  for (const auto& [rank, ns] : own) {
    if (rank != slowest->first) others.push_back(ns);
  }
  std::sort(others.begin(), others.end());
  const double usual = Quantile(others, 0.5);
  if (usual <= 0 || slowest->second < kSlowRank * usual) return;
  if (model::IsJob(c.run) && !KeepPace(c)) return;
  const double share = 1 - usual / slowest->second;
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("rank {} takes {} per step for its own work, the others {}: they wait for it",
                  slowest->first, Duration(slowest->second), Duration(usual)));
  for (const auto& [rank, ns] : own) {
    Show(draft, Evidence::Kind::kStep, fmt::format("rank {}: {} per step", rank, Duration(ns)));
  }
  RecommendUnpriced(
      draft,
      fmt::format("check rank {}'s machine (clock, other load, disk) and its part of the data",
                  slowest->first),
      {}, "no knob changes the cause: compare the ranks' runs");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "slow-rank", .row = 24, .shortens = Parts(Category::kCommunication), .check = Check};

}  // namespace stallscope::findings::slow_rank
