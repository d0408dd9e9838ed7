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

struct SlowRanks {
  std::vector<uint32_t> ranks;
  uint32_t slowest = 0;
  double ns = 0;        // of that
  double usual_ns = 0;  // of the others
};

// Those that take `factor` times as long as the others; none: alike.
SlowRanks SlowOf(const NsByRank& means, double factor) {
  SlowRanks slow;
  std::vector<double> sorted;
  for (const auto& [rank, ns] : means) {
    if (ns > slow.ns) {
      slow.slowest = rank;
      slow.ns = ns;
    }
    sorted.push_back(ns);
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.pop_back();
  slow.usual_ns = Quantile(sorted, 0.5);
  // If most are slow, a gap separates them from those that are not, which are a third at least.
  for (size_t i = (means.size() + 2) / 3; slow.ns < factor * slow.usual_ns && i < sorted.size();
       ++i) {
    if (sorted[i] < factor * sorted[i - 1]) continue;
    sorted.resize(i);
    slow.usual_ns = Quantile(sorted, 0.5);
  }
  const double half = (slow.ns - slow.usual_ns) / 2;
  for (const auto& [rank, ns] : means) {
    const double more = ns - slow.usual_ns;
    if (more > 0 && more >= half && ns >= factor * slow.usual_ns) slow.ranks.push_back(rank);
  }
  return slow;
}

// Ranks that wait for one another in every step take the same time for it. The trainers of a job
// may have nothing to do with one another.
bool KeepPace(const NsByRank& steps) {
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second < kSlowRank * least->second;
}

// "rank 2", "ranks 1, 4, 5 and 12 more".
std::string WhoAre(const std::vector<uint32_t>& ranks) {
  constexpr size_t kNamed = 8;
  const std::vector<uint32_t> named(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kNamed)));
  std::string who = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(named, ", "));
  if (named.size() < ranks.size()) who += fmt::format(" and {} more", ranks.size() - named.size());
  return who;
}

// "rank 2 takes 3.0 ms per step for its own work"
struct Said {
  std::string_view verb;
  std::string_view what;
};
constexpr Said kWorks = {"take", "own work"};
constexpr Said kWaits = {"wait", "input"};

void Add(const Case& c, const SlowRanks& slow, double share, const Said& said,
         const NsByRank& means, std::vector<Draft>& drafts) {
  const bool one = slow.ranks.size() == 1;
  const std::string who = WhoAre(slow.ranks);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} {}{} {}{} per step for {} {}, the others {}: they wait for {}", who,
                        said.verb, one ? "s" : "", one ? "" : "up to ", Duration(slow.ns),
                        one ? "its" : "their", said.what, Duration(slow.usual_ns),
                        one ? "it" : "the slowest"));
  for (const auto& [rank, ns] : means) {
    Show(draft, Evidence::Kind::kStep, fmt::format("rank {}: {} per step", rank, Duration(ns)));
  }
  RecommendUnpriced(
      draft,
      fmt::format("check the machine{} of {} (clock, other load, disk) and {} part of the data",
                  one ? "" : "s", who, one ? "its" : "their"),
      {}, "no knob changes the cause: compare the ranks' runs");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const NsByRank steps = MeansOf(c, All);
  if (steps.size() < 2 || c.verdict.bound == Bound::kInconclusive) return;
  const bool together = KeepPace(steps);
  if (model::IsJob(c.run) && !together) return;
  const NsByRank own = MeansOf(c, Own);
  const SlowRanks workers = SlowOf(own, kSlowRank);
  if (!workers.ranks.empty() && workers.usual_ns > 0) {
    return Add(c, workers, 1 - workers.usual_ns / workers.ns, kWorks, own, drafts);
  }
  // Where a trace does not tell the others' waiting from their work, the input does.
  if (own != steps || !together) return;
  const NsByRank input = MeansOf(c, Input);
  const SlowRanks fed = SlowOf(input, kSlowInputOfRank);
  const double more = fed.ranks.empty() ? 0 : (fed.ns - fed.usual_ns) / steps.at(fed.slowest);
  if (more >= kSlowInputShare) Add(c, fed, more, kWaits, input, drafts);
}

}  // namespace

extern const Rule kRule = {.id = "slow-rank",
                           .row = 24,
                           .shortens = Parts(Category::kCommunication, Category::kInputStall),
                           .check = Check};

}  // namespace stallscope::findings::slow_rank
