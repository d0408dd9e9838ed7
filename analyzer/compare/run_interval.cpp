#include "analyzer/compare/run_interval.h"

#include <algorithm>
#include <cmath>

#include "analyzer/base/math.h"

namespace stallscope::compare {

double Mean(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double SquaresAround(std::span<const double> values) {
  const double mean = Mean(values);
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return squares;
}

LogChange CompareRuns(std::span<const double> base_logs, std::span<const double> now_logs) {
  const double m = static_cast<double>(base_logs.size());
  const double n = static_cast<double>(now_logs.size());
  // Squared standard errors of the two means; with as many runs a side their sum is the pooled one.
  const double base = SquaresAround(base_logs) / (m - 1) / m;
  const double now = SquaresAround(now_logs) / (n - 1) / n;
  double freedom = m + n - 2;
  if (m != n && base + now > 0) {
    freedom = (base + now) * (base + now) / (base * base / (m - 1) + now * now / (n - 1));
  }
  const auto whole = static_cast<size_t>(std::max(1.0, std::floor(freedom + 1e-9)));
  const double half = StudentT95(whole) * std::sqrt(base + now);
  const double at = Mean(now_logs) - Mean(base_logs);
  return {at, at - half, at + half};
}

}  // namespace stallscope::compare
