// The runs as the statistics take them: one rate per run, and the steps that it comes from.
#pragma once

#include <vector>

#include "analyzer/compare/compare.h"
#include "analyzer/compare/step_interval.h"

namespace stallscope::compare {

struct RatedRun {
  double log_rate = 0;  // of samples, or steps, per second
  StepSeries steps;     // may be empty
};

struct RatedSides {
  // Steps are counted: a side does not know its samples.
  bool by_steps = false;
  std::vector<RatedRun> base;
  std::vector<RatedRun> now;
  // Traces without a rate in the unit of the others; they are on neither side.
  std::vector<std::string> left_out;
};
RatedSides RateSides(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now);

std::vector<double> LogRates(const std::vector<RatedRun>& runs);

}  // namespace stallscope::compare
