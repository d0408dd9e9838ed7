#include "analyzer/compare/compare.h"

namespace stallscope::compare {
namespace {

constexpr double kNsPerMs = 1e6;

void AddSteps(const attribution::Attribution& attribution, RunSummary& summary) {
  // Without counted steps the one share is the window's, and there is no step to speak of.
  if (attribution.window.steps == 0 || attribution.steps.empty()) return;
  attribution::PerCategory<double> sums{};
  for (const attribution::StepShare& step : attribution.steps) {
    summary.step_ms.push_back(static_cast<double>(step.end_ns - step.start_ns) / kNsPerMs);
    summary.samples.push_back(step.samples);
    for (size_t c = 0; c < attribution::kCategories; ++c) {
      sums[c] += static_cast<double>(step.ns[c]);
    }
  }
  const double steps = static_cast<double>(attribution.steps.size());
  for (size_t c = 0; c < attribution::kCategories; ++c) {
    if (attribution.breakdown[c]) summary.ms_per_step[c] = sums[c] / steps / kNsPerMs;
  }
}

void AddStages(const model::Run& run, const attribution::Attribution& attribution,
               RunSummary& summary) {
  for (const attribution::StageUse& use : attribution.stages) {
    RunSummary::Stage& stage = summary.stages.emplace_back();
    stage.name = std::string(run.NameOf(use.stage));
    stage.capacity_samples_per_s = use.capacity_samples_per_s;
    if (use.elements > 0) stage.service_ms = use.service_ns.mean / kNsPerMs;
    if (!summary.step_ms.empty() && (use.elements > 0 || use.busy_ns > 0)) {
      stage.busy_ms_per_step =
          static_cast<double>(use.busy_ns) / static_cast<double>(summary.step_ms.size()) / kNsPerMs;
    }
  }
}

double CoresOf(const trace::HostInfo& host) {
  const double allowed = host.cores_allowed;
  if (host.cgroup_cores <= 0) return allowed;
  return allowed > 0 && allowed < host.cgroup_cores ? allowed : host.cgroup_cores;
}

}  // namespace

RunSummary Summarise(const model::Run& run, const attribution::Attribution& attribution) {
  RunSummary summary;
  summary.trace = run.path;
  summary.name = run.info.name;
  if (attribution.throughput) summary.samples_per_s = attribution.throughput->samples_per_s;
  AddSteps(attribution, summary);
  AddStages(run, attribution, summary);
  summary.spec_json = run.info.spec_json;
  summary.digest = run.info.digest;
  summary.complete = run.quality.Complete();
  summary.cores_allowed = CoresOf(run.info.host);
  summary.host = run.info.host.name;
  summary.device_kind = run.info.device.kind;
  summary.device_name = run.info.device.name;
  return summary;
}

}  // namespace stallscope::compare
