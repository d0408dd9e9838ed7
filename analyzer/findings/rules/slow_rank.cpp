// Row 24: one rank is slower in its own work, or its input, and the others wait for it in every
// reduction.
#include <algorithm>
#include <map>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::slow_rank {
namespace {

using NsByRank = std::map<uint32_t, double>;

// Per step, on average.
template <class Time>
NsByRank MeansOf(const Case& c, const Time& time) {
  NsByRank sums;
  NsByRank counts;
  for (const auto& step : c.attribution.steps) {
    sums[step.rank] += static_cast<double>(time(step));
    counts[step.rank] += 1;
  }
  for (auto& [rank, sum] : sums) sum /= counts[rank];
  return sums;
}

int64_t All(const attribution::StepShare& step) { return step.end_ns - step.start_ns; }
// All but waiting for the others, where a trace tells that apart.
int64_t Own(const attribution::StepShare& step) {
  return All(step) - step.ns[At(Category::kCommunication)];
}
int64_t Input(const attribution::StepShare& step) { return step.ns[At(Category::kInputStall)]; }

struct Slowest {
  uint32_t rank = 0;
  double ns = 0;
  double usual_ns = 0;  // of the others
};

Slowest SlowestOf(const NsByRank& means) {
  const auto slowest = std::max_element(
      means.begin(), means.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<double> others;
  for (const auto& [rank, ns] : means) {
    if (rank != slowest->first) others.push_back(ns);
  }
  std::sort(others.begin(), others.end());
  return {slowest->first, slowest->second, Quantile(others, 0.5)};
}

// Ranks that wait for one another in every step take the same time for it. The trainers of a job
// may have nothing to do with one another.
bool KeepPace(const NsByRank& steps) {
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second < kSlowRank * least->second;
}

// "rank 2 takes 3.0 ms per step for its own work"
struct Said {
  std::string_view verb;
  std::string_view what;
};

void Add(const Case& c, const Slowest& slowest, double share, const Said& said,
         const NsByRank& means, std::vector<Draft>& drafts) {
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("rank {} {} {} per step for its {}, the others {}: they wait for it",
                        slowest.rank, said.verb, Duration(slowest.ns), said.what,
                        Duration(slowest.usual_ns)));
  for (const auto& [rank, ns] : means) {
    Show(draft, Evidence::Kind::kStep, fmt::format("rank {}: {} per step", rank, Duration(ns)));
  }
  RecommendUnpriced(
      draft,
      fmt::format("check rank {}'s machine (clock, other load, disk) and its part of the data",
                  slowest.rank),
      {}, "no knob changes the cause: compare the ranks' runs");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const NsByRank steps = MeansOf(c, All);
  if (steps.size() < 2 || c.verdict.bound == Bound::kInconclusive) return;
  const bool together = KeepPace(steps);
  if (model::IsJob(c.run) && !together) return;
  const NsByRank own = MeansOf(c, Own);
  const Slowest worker = SlowestOf(own);
  if (worker.usual_ns > 0 && worker.ns >= kSlowRank * worker.usual_ns) {
    return Add(c, worker, 1 - worker.usual_ns / worker.ns, {"takes", "own work"}, own, drafts);
  }
  // Where a trace does not tell the others' waiting from their work, the input does.
  if (own != steps || !together) return;
  const NsByRank input = MeansOf(c, Input);
  const Slowest fed = SlowestOf(input);
  const double more = (fed.ns - fed.usual_ns) / steps.at(fed.rank);
  if (fed.ns < kSlowInputOfRank * fed.usual_ns || more < kSlowInputShare) return;
  Add(c, fed, more, {"waits", "input"}, input, drafts);
}

}  // namespace

extern const Rule kRule = {.id = "slow-rank",
                           .row = 24,
                           .shortens = Parts(Category::kCommunication, Category::kInputStall),
                           .check = Check};

}  // namespace stallscope::findings::slow_rank
