#include "analyzer/model/rank_clocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/saturated.h"

namespace stallscope::model {
namespace {

constexpr size_t kFewestPairs = 3;
// Ends of one collective are some microseconds apart; where half of them are further off than this,
// other kernels were taken for the same.
constexpr int64_t kMostSpreadNs = 200'000;

// A step's number and a kernel's name: the ends of those kernels, by time.
using Ends = std::map<std::pair<uint64_t, std::string_view>, std::vector<int64_t>>;

bool HasMarkedSteps(const Run& run) {
  return !run.rows.steps.empty() &&
         std::none_of(run.info.limits.begin(), run.info.limits.end(),
                      [](const std::string& limit) { return limit.starts_with("steps:"); });
}

Ends EndsOf(const Run& run, IsCommunication is_communication) {
  std::vector<std::pair<int64_t, uint64_t>> steps;  // begin, number
  for (const trace::Step& step : run.rows.steps) steps.emplace_back(step.requested_ns, step.index);
  std::sort(steps.begin(), steps.end());
  std::vector<bool> moves(run.strings.size());
  for (size_t i = 0; i < moves.size(); ++i) moves[i] = is_communication(run.strings[i]);
  Ends ends;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.name.known() || !moves[kernel.name.value]) continue;
    const int64_t launched = kernel.enqueued_ns != 0 ? kernel.enqueued_ns : kernel.start_ns;
    const auto next =
        std::upper_bound(steps.begin(), steps.end(), launched,
                         [](int64_t ns, const auto& step) { return ns < step.first; });
    if (next == steps.begin()) continue;
    ends[{std::prev(next)->second, run.Text(kernel.name)}].push_back(kernel.end_ns);
  }
  for (auto& [key, times] : ends) std::sort(times.begin(), times.end());
  return ends;
}

// Times of files that somebody made up lie as far apart as numbers go.
int64_t Difference(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return a < b ? -kMost : kMost;
  // Of the least number there is no absolute value.
  return std::max(difference, -kMost);
}

int64_t MedianOf(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<ClockCorrection> CorrectionByCollectives(const Run& first, const Run& other,
                                                       int64_t offset,
                                                       IsCommunication is_communication) {
  if (!HasMarkedSteps(first) || !HasMarkedSteps(other)) return std::nullopt;
  const Ends there = EndsOf(other, is_communication);
  std::vector<int64_t> apart;
  for (const auto& [key, times] : EndsOf(first, is_communication)) {
    const auto same = there.find(key);
    // One of them may have been recorded from the middle of the step on.
    if (same == there.end() || same->second.size() != times.size()) continue;
    for (size_t i = 0; i < times.size(); ++i) {
      apart.push_back(Difference(times[i], SaturatedSum(same->second[i], offset)));
    }
  }
  if (apart.size() < kFewestPairs) return std::nullopt;
  ClockCorrection correction;
  correction.pairs = apart.size();
  correction.ns = MedianOf(apart);
  for (int64_t& ns : apart) {
    ns = Difference(std::max(ns, correction.ns), std::min(ns, correction.ns));
  }
  correction.spread_ns = MedianOf(apart);
  if (correction.spread_ns > kMostSpreadNs) return std::nullopt;
  return correction;
}

}  // namespace stallscope::model
