// Quantiles of durations without keeping them: 64 buckets per octave, so a quantile is off by less
// than 1%. The mean is exact. Whole numbers throughout: merging gives the same in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

class DurationHistogram {
 public:
  void Add(int64_t ns);
  void Merge(const DurationHistogram& other);
  uint64_t count() const { return count_; }
  Quantiles Summary() const;

 private:
  double At(double q) const;

  std::vector<uint64_t> buckets_;  // as many as are needed
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
};

}  // namespace stallscope::attribution
