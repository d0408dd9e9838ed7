#include "analyzer/attribution/work_split.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stallscope::attribution {
namespace {

// Two clocks are read one after the other, and an interrupt is nobody's wait: less than this of a
// span's time off the CPU says nothing.
constexpr double kNoise = 0.03;

}  // namespace

WorkSplit::WorkSplit(const std::vector<TrackView>& views, const SpanTotals& totals,
                     const std::vector<ThreadRate>& rates, const Window& window)
    : totals_(totals), thread_fraction_(views.size()), contention_share_(views.size()) {
  std::map<StageId, std::pair<int64_t, int64_t>> measured;  // own time, CPU
  for (const TrackUse& track : totals.tracks) {
    for (const auto& [stage, use] : track.stages) {
      measured[stage].first += use.measured_ns;
      measured[stage].second += use.measured_cpu_ns;
    }
  }
  for (const auto& [stage, sums] : measured) {
    if (sums.first > 0) {
      cpu_fraction_[stage] = static_cast<double>(sums.second) / static_cast<double>(sums.first);
    }
  }
  const auto window_ns = static_cast<double>(window.ns());
  for (size_t t = 0; t < views.size(); ++t) {
    int64_t own = 0;
    for (const auto& [stage, use] : totals.tracks[t].stages) own += use.own_ns;
    if (own > 0 && rates[t].on_cpu.has_value()) {
      thread_fraction_[t] = std::min(1.0, *rates[t].on_cpu * window_ns / static_cast<double>(own));
    }
    // Between two spans as well: a thread loses its core anywhere.
    auto off_cpu = static_cast<double>(totals.tracks[t].gap_ns);
    for (const auto& [stage, use] : totals.tracks[t].stages) {
      const auto fraction = CpuFraction(stage, TrackId{static_cast<uint32_t>(t)});
      if (fraction.has_value()) off_cpu += static_cast<double>(use.own_ns) * (1 - *fraction);
    }
    if (!rates[t].run_wait.has_value()) continue;
    knows_contention_ = true;
    if (off_cpu > 0) {
      contention_share_[t] = std::min(1.0, *rates[t].run_wait * window_ns / off_cpu);
    }
  }
}

std::optional<double> WorkSplit::CpuFraction(StageId stage, TrackId track) const {
  const auto known = cpu_fraction_.find(stage);
  if (known != cpu_fraction_.end()) return known->second;
  return thread_fraction_[track.value];
}

Split WorkSplit::Divide(int64_t ns, std::optional<double> cpu_fraction, double contention_share) {
  Split split;
  if (!cpu_fraction.has_value()) {
    split.unknown_ns = ns;
    return split;
  }
  const double off = 1 - *cpu_fraction;
  const auto off_ns = off < kNoise
                          ? int64_t{0}
                          : std::clamp<int64_t>(std::llround(off * static_cast<double>(ns)), 0, ns);
  split.cpu_ns = ns - off_ns;
  split.contention_ns =
      std::clamp<int64_t>(std::llround(contention_share * static_cast<double>(off_ns)), 0, off_ns);
  split.blocked_ns = off_ns - split.contention_ns;
  return split;
}

Split WorkSplit::Of(const TrackView& view, size_t span, int64_t ns) const {
  const trace::SpanColumns& spans = view.track().spans;
  const TrackId track = view.track().info.id;
  std::optional<double> fraction;
  if (!spans.cpu_ns.empty() && spans.cpu_ns[span] != 0) {
    // Waits inside are told apart by themselves; the outermost one holds those inside it.
    const Interval at = view.At(span);
    int64_t own = at.ns();
    int64_t outer_start = at.end_ns;
    for (size_t i = span; i-- > 0 && spans.EndNs(i) > at.start_ns;) {
      const Interval inner = view.At(i);
      if (inner.start_ns < at.start_ns || inner.end_ns > outer_start) continue;
      if (view.ClassOf(i).kind != trace::SpanKind::kWait) continue;
      own -= inner.ns();
      outer_start = inner.start_ns;
    }
    if (own > 0) {
      fraction = std::min(1.0, static_cast<double>(spans.cpu_ns[span]) / static_cast<double>(own));
    }
  }
  if (!fraction.has_value()) fraction = CpuFraction(view.ClassOf(span).stage, track);
  return Divide(ns, fraction, contention_share_[track.value]);
}

Split WorkSplit::OfGap(const TrackView& view, int64_t ns) const {
  Split split = Divide(ns, 0.0, contention_share_[view.track().info.id.value]);
  split.cpu_ns = std::exchange(split.blocked_ns, 0);
  return split;
}

Split WorkSplit::OfStage(StageId stage) const {
  Split sum;
  for (size_t t = 0; t < totals_.tracks.size(); ++t) {
    const auto use = totals_.tracks[t].stages.find(stage);
    if (use == totals_.tracks[t].stages.end()) continue;
    const Split split =
        Divide(use->second.own_ns, CpuFraction(stage, TrackId{static_cast<uint32_t>(t)}),
               contention_share_[t]);
    sum.cpu_ns += split.cpu_ns;
    sum.contention_ns += split.contention_ns;
    sum.blocked_ns += split.blocked_ns;
    sum.unknown_ns += split.unknown_ns;
  }
  return sum;
}

}  // namespace stallscope::attribution
