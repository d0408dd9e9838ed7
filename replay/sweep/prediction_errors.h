// How well the predictions of a sweep met what was measured. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_PREDICTION_ERRORS_H_
#define STALLSCOPE_REPLAY_SWEEP_PREDICTION_ERRORS_H_

#include <cstddef>
#include <optional>

#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// Errors are |predicted / measured - 1|. Nothing where no point has both.
struct PredictionErrors {
  size_t points = 0;  // that have both figures
  std::optional<double> median;
  std::optional<double> p95;
  std::optional<double> covered;            // share whose interval holds the measurement
  std::optional<double> median_half_width;  // of the intervals, relative
  // How much the point that is predicted to be the best falls short of the one that was measured
  // so: 0 where it is the same.
  std::optional<double> best_within;
  size_t unpriced = 0;
  size_t failed = 0;
};

PredictionErrors ErrorsOf(const Sweep& sweep);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_PREDICTION_ERRORS_H_
