#include "analyzer/report/regression.h"

#include <algorithm>
#include <limits>

#include "analyzer/report/metric.h"
#include "analyzer/spec/nearest.h"

namespace stallscope::report {
namespace {

// The patterns of report metrics that a comparison has.
const std::vector<std::string>& Patterns() {
  static const std::vector<std::string> kPatterns = [] {
    std::vector<std::string> patterns = {"throughput.samples_per_s",
                                         "step_time_ms.mean",
                                         "step_time_ms.p50",
                                         "step_time_ms.p95",
                                         "step_time_ms.p99",
                                         "stages[].service_ms.mean",
                                         "stages[].capacity_samples_per_s"};
    for (const attribution::Category category : attribution::kReportOrder) {
      patterns.push_back("breakdown." + std::string(attribution::WordFor(category)) + ".ns");
    }
    return patterns;
  }();
  return kPatterns;
}

std::string PatternOf(const std::string& metric) {
  Metric parsed;
  return ReadMetric(metric, parsed) ? "" : parsed.Pattern();
}

std::optional<compare::Change> OfStage(const compare::Comparison& comparison,
                                       const std::string& stage, bool service) {
  for (const compare::StageChange& change : comparison.stages) {
    if (change.name == stage) return service ? change.service_ms : change.capacity_samples_per_s;
  }
  return std::nullopt;
}

std::optional<compare::Change> ChangeOf(const compare::Comparison& comparison,
                                        const Metric& metric) {
  const std::string pattern = metric.Pattern();
  if (pattern == "throughput.samples_per_s") return comparison.throughput;
  if (pattern == "step_time_ms.mean") return comparison.step_mean_ms;
  if (pattern == "step_time_ms.p50") return comparison.step_p50_ms;
  if (pattern == "step_time_ms.p95") return comparison.step_p95_ms;
  if (pattern == "step_time_ms.p99") return comparison.step_p99_ms;
  if (pattern.starts_with("stages")) {
    return OfStage(comparison, *metric.steps.at(0).row, pattern.ends_with("service_ms.mean"));
  }
  // The breakdown's nanoseconds grow with the window: what is compared is the time a step.
  for (const attribution::Category category : attribution::kReportOrder) {
    if (metric.steps.at(1).key == attribution::WordFor(category)) {
      return comparison.ms_per_step[attribution::At(category)];
    }
  }
  return std::nullopt;
}

}  // namespace

bool CanRegress(const std::string& metric) {
  const auto& patterns = Patterns();
  return std::find(patterns.begin(), patterns.end(), PatternOf(metric)) != patterns.end();
}

std::string NearestRegression(const std::string& metric) { return Nearest(metric, Patterns()); }

std::optional<Loss> LossOf(const compare::Comparison& comparison, const std::string& metric) {
  Metric parsed;
  if (ReadMetric(metric, parsed)) return std::nullopt;
  const auto change = ChangeOf(comparison, parsed);
  if (!change.has_value()) return std::nullopt;
  const bool more_is_better = metric.ends_with("samples_per_s");
  const double sign = more_is_better ? -1 : 1;
  // From nothing to something: as large a loss as there is, and nothing says how certain it is.
  if (!change->HasRatio()) {
    return Loss{sign * std::numeric_limits<double>::infinity(), {}, {}, false};
  }
  Loss loss{sign * (change->ratio - 1), {}, {}, false};
  if (!change->bounded) return loss;
  const double low = sign * (change->low - 1);
  const double high = sign * (change->high - 1);
  loss.low = std::min(low, high);
  loss.high = std::max(low, high);
  loss.real = change->low > 1 || change->high < 1;
  // Of the throughput a test on whole runs has its say, too.
  constexpr double kSignificant = 0.05;
  const bool tested = metric == "throughput.samples_per_s" && comparison.p_value.has_value();
  if (tested && *comparison.p_value > kSignificant) loss.real = false;
  return loss;
}

}  // namespace stallscope::report
