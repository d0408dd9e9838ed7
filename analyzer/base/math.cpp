#include "analyzer/base/math.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stallscope {

// By degrees of freedom; past the table, the normal quantile with its first correction, accurate to
// 0.1% there.
double StudentT95(size_t freedom) {
  constexpr std::array<double, 30> kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom == 0) return 0;
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  constexpr double kNormal = 1.959964;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / (4 * static_cast<double>(freedom));
}

double Quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = rank - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

Interval MeanInterval(std::span<const double> values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double v : values) sum += v;
  const double n = static_cast<double>(values.size());
  const double mean = sum / n;
  if (values.size() == 1) return {mean, mean, mean};
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  const double half = StudentT95(values.size() - 1) * error;
  return {mean, mean - half, mean + half};
}

}  // namespace stallscope
