#include "analyzer/attribution/burst.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stallscope::attribution {
namespace {

constexpr size_t kBatches = 64;
constexpr double kMargin = 1.05;

// Around a bucket, each weighted by how near it is: with equal weights a burst more or less at the
// reach's end would decide. Beyond the run's ends it is mirrored.
double Around(const std::vector<double>& values, size_t at, size_t reach) {
  const size_t last = values.size() - 1;
  double sum = values[at];
  for (size_t distance = 1; distance <= reach; ++distance) {
    const double before = values[distance <= at ? at - distance : distance - at];
    const double after = values[at + distance <= last ? at + distance : 2 * last - at - distance];
    sum += (before + after) * (1 - static_cast<double>(distance) / static_cast<double>(reach + 1));
  }
  return sum;
}

double All(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

uint32_t WorkersOf(const model::Run& run, StageId stage) {
  return stage.known() ? std::max<uint32_t>(run.stages[stage.value].workers, 1) : 1;
}

bool IsTrainer(const model::Run& run, StageId stage) {
  return stage.known() && run.stages[stage.value].kind == "trainer";
}

}  // namespace

Bursts::Bursts(const model::Run& run, const Partition& partition, const SpanTotals& totals,
               const StepBuckets& buckets)
    : demand_ns_(buckets.size()), buckets_(buckets) {
  size_t step = 0;
  for (const StepShare& share : partition.steps) {
    if (share.rank != partition.steps.front().rank) continue;
    const int64_t needed = share.end_ns - share.start_ns - share.ns[At(Category::kInputStall)];
    demand_ns_[buckets.OfStep(step++)] += static_cast<double>(needed);
  }
  // Threads share their time among the stages that run in them; a stage's own workers bound it
  // wherever it runs.
  std::map<StageId, std::vector<double>> groups;
  std::map<StageId, std::vector<double>> stages;
  const auto add = [&](std::vector<double>& need, const StageWork& work, uint32_t workers) {
    need.resize(buckets.size());
    for (size_t i = 0; i < work.busy_by_bucket.size(); ++i) {
      need[i] += static_cast<double>(work.busy_by_bucket[i]) / workers;
    }
  };
  for (const auto& [key, work] : totals.work) {
    const auto& [owner, stage] = key;
    if (IsTrainer(run, stage)) continue;
    add(groups[owner], work, IsTrainer(run, owner) ? 1 : WorkersOf(run, owner));
    add(stages[stage], work, WorkersOf(run, stage));
  }
  for (auto* needs : {&groups, &stages}) {
    for (auto& [stage, need] : *needs) needs_ns_.push_back(std::move(need));
  }
}

bool Bursts::OnlyBursts(size_t counted_step) const {
  if (demand_ns_.empty() || needs_ns_.empty()) return false;
  const size_t reach = std::max<size_t>(kBatches / buckets_.steps_per_bucket(), 1);
  const size_t at = std::min(buckets_.OfStep(counted_step), demand_ns_.size() - 1);
  // A run that is shorter than the reach counts as a whole.
  const bool whole = demand_ns_.size() < 2 * reach + 1;
  const auto sum = [&](const std::vector<double>& values) {
    return whole ? All(values) : Around(values, at, reach);
  };
  double most = 0;
  for (const std::vector<double>& need : needs_ns_) most = std::max(most, sum(need));
  return most > 0 && sum(demand_ns_) >= kMargin * most;
}

}  // namespace stallscope::attribution
