#include "analyzer/model/profiled.h"

#include <algorithm>
#include <optional>

namespace stallscope::model {
namespace {

std::vector<ProfiledStretch> OfAllRanks(const std::vector<ProfiledStretch>& in_order) {
  std::vector<ProfiledStretch> all;
  for (const ProfiledStretch& next : in_order) {
    if (all.empty() || next.start_ns >= all.back().end_ns) {
      all.push_back(next);
      continue;
    }
    ProfiledStretch& last = all.back();
    last.end_ns = std::max(last.end_ns, next.end_ns);
    last.open.start_ns = std::max(last.open.start_ns, next.open.start_ns);
    last.open.end_ns = std::max(last.open.start_ns, std::min(last.open.end_ns, next.open.end_ns));
    last.closed = last.closed && next.closed;
  }
  return all;
}

}  // namespace

std::vector<ProfiledStretch> ProfiledStretches(const Run& run) {
  std::vector<ProfiledStretch> all;
  const bool any =
      std::any_of(run.span_classes.begin(), run.span_classes.end(),
                  [&](const auto& what) { return run.Text(what.name) == kProfilerStart; });
  if (!any) return all;
  const int64_t last_ns = WindowOf(run).end_ns;
  for (const Track& track : run.tracks) {
    std::optional<ProfiledStretch> open;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      const std::string_view name = run.Text(what.name);
      if (name != kProfilerStart && name != kProfilerStop) continue;
      const int64_t start_ns = track.spans.start_ns[i];
      const int64_t end_ns = track.spans.EndNs(i);
      if (name == kProfilerStart) {
        if (open) all.push_back(*open);
        open = {start_ns, {end_ns, std::max(end_ns, last_ns)}, std::max(end_ns, last_ns), false};
      } else if (open) {
        all.push_back({open->start_ns, {open->open.start_ns, start_ns}, end_ns, true});
        open.reset();
      }
    }
    if (open) all.push_back(*open);
  }
  std::sort(all.begin(), all.end(), [](const ProfiledStretch& a, const ProfiledStretch& b) {
    return a.start_ns < b.start_ns;
  });
  return run.step_ranks.empty() ? all : OfAllRanks(all);
}

bool IsProfiled(const std::vector<ProfiledStretch>& stretches, const StepInterval& step) {
  return std::any_of(stretches.begin(), stretches.end(), [&](const ProfiledStretch& stretch) {
    return step.start_ns < stretch.end_ns && step.end_ns > stretch.start_ns;
  });
}

}  // namespace stallscope::model
