#include "analyzer/compare/rates.h"

#include <algorithm>
#include <cmath>

namespace stallscope::compare {
namespace {

bool KnowsSamples(const RunSummary& run) {
  return run.samples_per_s && std::isfinite(*run.samples_per_s) && *run.samples_per_s > 0;
}

StepSeries SeriesOf(const RunSummary& run, bool by_steps) {
  StepSeries series;
  for (double ms : run.step_ms) series.ms.push_back(std::isfinite(ms) && ms > 0 ? ms : 0);
  const bool counted =
      !by_steps && run.samples.size() == run.step_ms.size() &&
      std::any_of(run.samples.begin(), run.samples.end(), [](uint32_t s) { return s > 0; });
  if (counted) {
    series.samples.assign(run.samples.begin(), run.samples.end());
  } else {
    series.samples.assign(series.ms.size(), 1);
  }
  return series;
}

std::vector<RatedRun> RateRuns(const std::vector<RunSummary>& runs, bool by_steps,
                               std::vector<std::string>& left_out) {
  std::vector<RatedRun> rated;
  for (const RunSummary& run : runs) {
    RatedRun one;
    one.steps = SeriesOf(run, by_steps);
    const double mean_ms = ValueOf(one.steps, Statistic::kMean);
    if (by_steps && mean_ms > 0) {
      one.log_rate = std::log(1000 / mean_ms);
    } else if (!by_steps && KnowsSamples(run)) {
      one.log_rate = std::log(*run.samples_per_s);
    } else {
      left_out.push_back(run.trace);
      continue;
    }
    rated.push_back(std::move(one));
  }
  return rated;
}

}  // namespace

RatedSides RateSides(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now) {
  RatedSides sides;
  sides.by_steps = std::none_of(base.begin(), base.end(), KnowsSamples) ||
                   std::none_of(now.begin(), now.end(), KnowsSamples);
  sides.base = RateRuns(base, sides.by_steps, sides.left_out);
  sides.now = RateRuns(now, sides.by_steps, sides.left_out);
  return sides;
}

std::vector<double> LogRates(const std::vector<RatedRun>& runs) {
  std::vector<double> logs;
  for (const RatedRun& run : runs) logs.push_back(run.log_rate);
  return logs;
}

}  // namespace stallscope::compare
