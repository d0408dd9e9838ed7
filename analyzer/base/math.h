// Quantiles and intervals, defined once for every room.
#pragma once

#include <cstddef>
#include <span>

namespace stallscope {

// The q-quantile (0..1) with linear interpolation between the closest ranks, like numpy's default.
// `sorted` must be in ascending order; 0 if it is empty.
double Quantile(std::span<const double> sorted, double q);

// The half-width of a 95% Student's t interval, in standard errors; 0 without a degree of freedom.
double StudentT95(size_t freedom);

struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// The mean with its 95% Student's t interval. One value gives an interval of width 0; none gives
// zeros.
Interval MeanInterval(std::span<const double> values);

}  // namespace stallscope
