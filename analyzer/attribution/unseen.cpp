#include "analyzer/attribution/unseen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/model/profiled.h"

namespace stallscope::attribution {
namespace {

// Per step. The host may be ahead of the device: what that does for a step is not what it does in
// it.
PerCategory<double> MeansOf(const Activity& activity, const SeenSteps& seen) {
  PerCategory<double> means{};
  const auto add = [&](const Activity& of, Interval range, bool works) {
    for (const Slice& slice : Sweep(of, range)) {
      if (std::count(kDeviceWork.begin(), kDeviceWork.end(), slice.category) != (works ? 1 : 0))
        continue;
      means[At(slice.category)] += static_cast<double>(slice.end_ns - slice.start_ns) /
                                   static_cast<double>(seen.window.steps);
    }
  };
  add(seen.issued, {seen.window.start_ns, kEver.end_ns}, true);
  add(activity, {seen.window.start_ns, seen.window.end_ns}, false);
  return means;
}

// The part of a sorted set without overlaps.
Intervals PartOf(const Intervals& set, Interval range) {
  const auto first = std::partition_point(set.begin(), set.end(), [&](const Interval& interval) {
    return interval.end_ns <= range.start_ns;
  });
  const auto end = std::partition_point(
      first, set.end(), [&](const Interval& interval) { return interval.start_ns < range.end_ns; });
  return UnionWithin(Intervals(first, end), range);
}

// Moves `ns` of the earliest instants to another set.
void Move(int64_t ns, Intervals& from, Intervals& to) {
  size_t whole = 0;
  for (; whole < from.size() && ns > 0; ++whole) {
    Interval& interval = from[whole];
    const int64_t taken = std::min(ns, interval.ns());
    to.push_back({interval.start_ns, interval.start_ns + taken});
    interval.start_ns += taken;
    ns -= taken;
    if (interval.ns() > 0) break;
  }
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(whole));
}

// One step, whose waits are those of `stalls`.
void FillStep(Interval step, const PerCategory<double>& means, const Intervals& stalls,
              const Intervals& beside, Activity& filled) {
  Intervals rest = SubtractAll({step}, PartOf(beside, step));
  Intervals stall = SubtractAll(PartOf(stalls, step), PartOf(beside, step));
  double work = 0;
  for (const Category category : kDeviceWork) work += means[At(category)];
  const auto most = static_cast<double>(Length(rest));
  // What is left of the step before is worked off first.
  const double idle = std::max(0.0, most - work);
  const int64_t waits = Length(stall);
  Intervals hidden;
  if (idle < static_cast<double>(waits)) {
    Move(waits - static_cast<int64_t>(idle), stall, hidden);
  }
  rest = SubtractAll(rest, stall);
  auto& stalled = filled[At(Category::kInputStall)];
  stalled.insert(stalled.end(), stall.begin(), stall.end());

  const double fits = work > 0 ? std::min(1.0, static_cast<double>(Length(rest)) / work) : 1;
  for (const Category category : kDeviceWork) {
    Move(std::llround(fits * means[At(category)]), rest, filled[At(category)]);
  }
  const double host =
      means[At(Category::kLaunch)] + means[At(Category::kSync)] + means[At(Category::kOther)];
  const auto left = static_cast<double>(Length(rest));
  if (host > 0) {
    Move(std::llround(left * means[At(Category::kSync)] / host), rest, filled[At(Category::kSync)]);
    Move(std::llround(left * means[At(Category::kLaunch)] / host), rest,
         filled[At(Category::kLaunch)]);
  } else {
    Move(Length(rest), rest, filled[At(Category::kLaunch)]);
  }
}

}  // namespace

void FillUnseen(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                const SeenSteps& seen, Activity& activity) {
  const std::vector<model::ProfiledStretch> stretches = model::ProfiledStretches(run);
  const PerCategory<double> means = MeansOf(activity, seen);
  for (Intervals& set : activity) set = UnionWithin(std::move(set), kEver);
  Intervals unseen;
  Activity filled;
  for (const model::StepInterval& step : intervals) {
    if (model::IsProfiled(stretches, step)) continue;
    const Interval range{step.start_ns, step.end_ns};
    unseen.push_back(range);
    FillStep(range, means, activity[At(Category::kInputStall)], seen.beside, filled);
  }
  unseen = UnionWithin(std::move(unseen), kEver);
  for (size_t c = 0; c < kCategories; ++c) {
    activity[c] = SubtractAll(activity[c], unseen);
    activity[c].insert(activity[c].end(), filled[c].begin(), filled[c].end());
  }
}

}  // namespace stallscope::attribution
