// The change from one side to the other estimated from the steps of its runs: for fewer runs than a
// test on runs needs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "analyzer/compare/run_interval.h"

namespace stallscope::compare {

// A run's steps in their order. `samples` are all 1 where steps are what is counted.
struct StepSeries {
  std::vector<double> ms;
  std::vector<double> samples;
};

enum class Statistic { kRate, kMean, kP50, kP95, kP99 };
constexpr size_t kStatistics = 5;

// Samples per millisecond, or milliseconds; 0 without steps or time.
double ValueOf(const StepSeries& run, Statistic statistic);

// With fewer, a run's steps say nothing about how steps vary.
constexpr size_t kFewestSteps = 3;

// How far the mean of one more run is from the truth, beyond the sampling error of its steps: a
// standard deviation of logarithms, with its degrees of freedom.
struct RunSpread {
  double deviation = 0;
  size_t freedom = 0;
};
// From how runs of a side differ, where sides have several, and from how the quarters of a run do.
RunSpread SpreadOf(const std::vector<StepSeries>& base, const std::vector<StepSeries>& now);

// Block-bootstrap intervals, widened by `spread`. The caller has the changes themselves; this is
// only how far the interval reaches below (<= 0) and above (>= 0).
struct Reach {
  double below = 0;
  double above = 0;
};
// Every run needs kFewestSteps steps and a nonzero duration, and each side needs a run.
std::array<Reach, kStatistics> StepReach(const std::vector<StepSeries>& base,
                                         const std::vector<StepSeries>& now,
                                         const RunSpread& spread);

}  // namespace stallscope::compare
