#include "analyzer/report/json.h"

#include "analyzer/base/escape.h"
#include "analyzer/report/json_tree.h"

namespace stallscope::report {
namespace {

Json Change(const std::optional<compare::Change>& change) {
  if (!change.has_value()) return nullptr;
  const bool has_ratio = change->HasRatio();
  return {{"base", Number(change->base)},
          {"new", Number(change->now)},
          {"ratio", has_ratio ? Number(change->ratio) : Json(nullptr)},
          {"low", has_ratio && change->bounded ? Number(change->low) : Json(nullptr)},
          {"high", has_ratio && change->bounded ? Number(change->high) : Json(nullptr)}};
}

}  // namespace

Json ComparisonTree(const compare::Comparison& comparison) {
  Json categories = Json::object();
  for (const attribution::Category category : attribution::kReportOrder) {
    categories[std::string(attribution::WordFor(category))] =
        Change(comparison.ms_per_step[attribution::At(category)]);
  }
  Json stages = Json::array();
  for (const compare::StageChange& stage : comparison.stages) {
    stages.push_back({{"name", stage.name},
                      {"service_ms", Change(stage.service_ms)},
                      {"busy_ms_per_step", Change(stage.busy_ms_per_step)},
                      {"capacity_samples_per_s", Change(stage.capacity_samples_per_s)}});
  }
  return {
      {"schema", "stallscope.comparison/1"},
      {"base_runs", comparison.base_runs},
      {"new_runs", comparison.new_runs},
      {"answer", compare::WordFor(comparison.answer)},
      {"text", comparison.text},
      {"method", comparison.method},
      {"p_value", OrNull(comparison.p_value)},
      {"throughput", Change(comparison.throughput)},
      {"step_time_ms",
       {{"mean", Change(comparison.step_mean_ms)},
        {"p50", Change(comparison.step_p50_ms)},
        {"p95", Change(comparison.step_p95_ms)},
        {"p99", Change(comparison.step_p99_ms)}}},
      {"ms_per_step", categories},
      {"stages", stages},
      {"spec_change", comparison.spec_change ? PatchTree(*comparison.spec_change) : Json(nullptr)},
      {"same_data", comparison.same_data},
      {"warnings", comparison.warnings}};
}

std::string WriteJson(const Report& report) { return JsonText(ReportTree(report)) + "\n"; }
std::string WriteJson(const compare::Comparison& comparison) {
  return JsonText(ComparisonTree(comparison)) + "\n";
}

}  // namespace stallscope::report
