#include "analyzer/attribution/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stallscope::attribution {
namespace {

// Below 64 a bucket a value; then 64 equal parts of every doubling.
size_t BucketOf(uint64_t ns) {
  if (ns < 64) return static_cast<size_t>(ns);
  const auto octave = static_cast<size_t>(std::bit_width(ns)) - 7;  // 0 for 64 to 127
  const auto part = static_cast<size_t>(ns >> octave) - 64;
  return 64 * (octave + 1) + part;
}

double MiddleOf(size_t bucket) {
  if (bucket < 64) return static_cast<double>(bucket);
  const size_t octave = bucket / 64 - 1;
  const double width = std::ldexp(1.0, static_cast<int>(octave));
  // What the values of a bucket are on average: whole numbers.
  return (static_cast<double>(64 + bucket % 64) + 0.5) * width - 0.5;
}

}  // namespace

void DurationHistogram::Add(int64_t ns) {
  const auto value = static_cast<uint64_t>(std::max<int64_t>(ns, 0));
  const size_t bucket = BucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  sum_ns_ += value;
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
}

double DurationHistogram::At(double q) const {
  const auto rank = static_cast<uint64_t>(q * static_cast<double>(count_ - 1));
  uint64_t below = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    if (below > rank) return MiddleOf(i);
  }
  return 0;
}

Quantiles DurationHistogram::Summary() const {
  Quantiles summary;
  if (count_ == 0) return summary;
  const auto n = static_cast<double>(count_);
  summary.mean = static_cast<double>(sum_ns_) / n;
  summary.p50 = At(0.5);
  summary.p95 = At(0.95);
  summary.p99 = At(0.99);
  double squares = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const double off = MiddleOf(i) - summary.mean;
    squares += static_cast<double>(buckets_[i]) * off * off;
  }
  summary.variation = summary.mean > 0 ? std::sqrt(squares / n) / summary.mean : 0;
  return summary;
}

}  // namespace stallscope::attribution
