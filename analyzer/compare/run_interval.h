// The change from one set of runs to another, as the natural logarithm of new / base: a change up
// and the same change down are then equally far from no change.
#pragma once

#include <cstddef>
#include <span>

namespace stallscope::compare {

struct LogChange {
  double at = 0;
  double low = 0;  // 95%
  double high = 0;
};

double Mean(std::span<const double> values);
// Sum of squared distances from the mean.
double SquaresAround(std::span<const double> values);

// By Student's t on the logarithms of the runs' values. With equally many runs per side, one
// variance for both, which is robust then; otherwise one per side (Welch). Both sides need two
// runs.
LogChange CompareRuns(std::span<const double> base_logs, std::span<const double> now_logs);

}  // namespace stallscope::compare
