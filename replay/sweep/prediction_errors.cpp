#include "replay/sweep/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyzer/base/math.h"

namespace stallscope::replay {

PredictionErrors ErrorsOf(const Sweep& sweep) {
  PredictionErrors result;
  std::vector<double> errors;
  std::vector<double> half_widths;
  size_t covered = 0;
  Rate best_predicted;
  double picked = 0;
  double best = 0;
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    const Point& point = ConfigurationAt(sweep, i);
    if (!point.unpriced.empty()) ++result.unpriced;
    if (!point.error.empty()) ++result.failed;
    const auto measured = Measured(point);
    if (!point.predicted || !measured || !(measured->samples_per_s > 0)) continue;
    const Rate& predicted = *point.predicted;
    const double actual = measured->samples_per_s;
    errors.push_back(std::abs(predicted.samples_per_s / actual - 1));
    if (predicted.samples_per_s > 0) {
      half_widths.push_back((predicted.high - predicted.low) / 2 / predicted.samples_per_s);
    }
    if (predicted.low <= actual && actual <= predicted.high) ++covered;
    if (predicted.samples_per_s > best_predicted.samples_per_s) {
      best_predicted = predicted;
      picked = actual;
    }
    best = std::max(best, actual);
  }
  result.points = errors.size();
  if (errors.empty()) return result;
  std::sort(errors.begin(), errors.end());
  std::sort(half_widths.begin(), half_widths.end());
  result.median = Quantile(errors, 0.5);
  result.p95 = Quantile(errors, 0.95);
  result.covered = static_cast<double>(covered) / static_cast<double>(errors.size());
  result.median_half_width = Quantile(half_widths, 0.5);
  result.best_within = 1 - picked / best;
  return result;
}

}  // namespace stallscope::replay
