#include "analyzer/export/kineto_partition.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/attribution/intervals.h"
#include "analyzer/attribution/partition.h"

namespace stallscope::exporting {
namespace {

using attribution::Interval;
using attribution::Intervals;
using Roles = std::array<Intervals, kKinetoRoles>;

constexpr std::string_view kStepPrefix = "ProfilerStep#";

Intervals& At(Roles& roles, KinetoRole role) { return roles[static_cast<size_t>(role)]; }

// What spans of a class count as; nothing where they count as nothing.
std::optional<KinetoRole> RoleOf(const model::Run& run, const trace::SpanClass& what) {
  const std::string_view name = run.Text(what.name);
  switch (what.activity) {
    case trace::SpanActivity::kRuntime:
      return KinetoRole::kRuntime;
    case trace::SpanActivity::kLoader:
      return KinetoRole::kDataLoader;
    case trace::SpanActivity::kMemset:
      return KinetoRole::kMemset;
    case trace::SpanActivity::kOperator:
    case trace::SpanActivity::kAnnotation:
      if (name.starts_with(kStepPrefix)) return std::nullopt;
      if (name.starts_with("nccl:") || name.starts_with("gloo:")) return KinetoRole::kCommunication;
      return KinetoRole::kCpu;
    case trace::SpanActivity::kNone:
    case trace::SpanActivity::kFunction:
    case trace::SpanActivity::kOp:
    case trace::SpanActivity::kEvaluation:
      break;
  }
  return std::nullopt;
}

Roles RolesOf(const model::Run& run) {
  Roles roles;
  std::vector<std::optional<KinetoRole>> by_class;
  for (const trace::SpanClass& what : run.span_classes) by_class.push_back(RoleOf(run, what));
  for (const model::Track& track : run.tracks) {
    if (track.info.kind == trace::TrackKind::kThread) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const std::optional<KinetoRole> role = by_class[track.spans.span_class[i]];
      if (role) At(roles, *role).push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  std::vector<bool> communication(run.strings.size());
  for (size_t i = 0; i < run.strings.size(); ++i) {
    communication[i] = attribution::IsCommunication(run.strings[i]);
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    const bool moves = kernel.name.known() && communication[kernel.name.value];
    At(roles, moves ? KinetoRole::kCommunication : KinetoRole::kKernel)
        .push_back({kernel.start_ns, kernel.end_ns});
  }
  for (const trace::Copy& copy : run.rows.copies) {
    At(roles, KinetoRole::kMemcpy).push_back({copy.start_ns, copy.end_ns});
  }
  return roles;
}

// The host's side of the steps, by time.
std::vector<KinetoStep> HostSteps(const model::Run& run) {
  std::vector<KinetoStep> steps;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kDetail) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      const std::string_view name = run.Text(what.name);
      if (what.activity != trace::SpanActivity::kAnnotation || !name.starts_with(kStepPrefix)) {
        continue;
      }
      KinetoStep& step = steps.emplace_back();
      const std::string_view number = name.substr(kStepPrefix.size());
      std::from_chars(number.data(), number.data() + number.size(), step.step);
      step.start_ns = track.spans.start_ns[i];
      step.end_ns = track.spans.EndNs(i);
    }
  }
  if (steps.empty()) {
    for (const model::StepInterval& interval : model::StepIntervals(run)) {
      steps.push_back({interval.index, interval.start_ns, interval.end_ns, {}});
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const KinetoStep& a, const KinetoStep& b) {
    return a.start_ns < b.start_ns;
  });
  return steps;
}

// Lets each step last until the device has done what the step launched.
void AddDeviceSide(const model::Run& run, std::vector<KinetoStep>& steps) {
  const std::vector<KinetoStep> host = steps;
  const auto extend = [&](int64_t enqueued_ns, int64_t end_ns) {
    if (enqueued_ns == 0) return;
    const auto next =
        std::upper_bound(host.begin(), host.end(), enqueued_ns,
                         [](int64_t ns, const KinetoStep& step) { return ns < step.start_ns; });
    if (next == host.begin()) return;
    const auto step = static_cast<size_t>(next - host.begin()) - 1;
    if (enqueued_ns <= host[step].end_ns) {
      steps[step].end_ns = std::max(steps[step].end_ns, end_ns);
    }
  };
  for (const trace::Kernel& kernel : run.rows.kernels) extend(kernel.enqueued_ns, kernel.end_ns);
  for (const trace::Copy& copy : run.rows.copies) extend(copy.enqueued_ns, copy.end_ns);
  int64_t before = std::numeric_limits<int64_t>::min();
  for (KinetoStep& step : steps) {
    step.start_ns = std::max(step.start_ns, before);
    step.end_ns = std::max(step.end_ns, step.start_ns);
    before = step.end_ns;
  }
}

// Adds each interval's length to the steps that it lies in; both are by time.
void AddTo(std::vector<KinetoStep>& steps, const Intervals& intervals, size_t role) {
  size_t first = 0;
  for (const Interval& interval : intervals) {
    while (first < steps.size() && steps[first].end_ns <= interval.start_ns) ++first;
    for (size_t i = first; i < steps.size() && steps[i].start_ns < interval.end_ns; ++i) {
      steps[i].ns[role] += std::max<int64_t>(0, std::min(interval.end_ns, steps[i].end_ns) -
                                                    std::max(interval.start_ns, steps[i].start_ns));
    }
  }
}

}  // namespace

std::vector<KinetoStep> PartitionAsKineto(const model::Run& run) {
  std::vector<KinetoStep> steps = HostSteps(run);
  if (steps.empty()) return steps;
  AddDeviceSide(run, steps);
  const Interval window{steps.front().start_ns, steps.back().end_ns};
  Intervals rest;
  for (const KinetoStep& step : steps) rest.push_back({step.start_ns, step.end_ns});
  rest = attribution::UnionWithin(std::move(rest), window);
  Roles roles = RolesOf(run);
  for (size_t role = 0; role + 1 < kKinetoRoles; ++role) {
    const Intervals busy = attribution::UnionWithin(std::move(roles[role]), window);
    const Intervals left = attribution::SubtractAll(rest, busy);
    AddTo(steps, attribution::SubtractAll(rest, left), role);
    rest = left;
  }
  AddTo(steps, rest, kKinetoRoles - 1);
  return steps;
}

}  // namespace stallscope::exporting
