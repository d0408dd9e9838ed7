// Resampling of a run's steps in blocks, so that what neighboring steps share (a drained buffer, a
// busy host) stays together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/base/splitmix.h"

namespace stallscope::compare {

// Four times the integrated autocorrelation time of `series`, at least the cube root of its length
// and at most a fifth of it.
size_t BlockLength(std::span<const double> series);

// Sums over any stretch of a series treated as a ring.
class RingSums {
 public:
  explicit RingSums(std::span<const double> series);
  // Over `length` members from `start` on; both at most the series' length.
  double Sum(size_t start, size_t length) const { return sums_[start + length] - sums_[start]; }
  double total() const { return sums_[sums_.size() / 2]; }

 private:
  std::vector<double> sums_;  // of the first 0, 1, ... 2 n members
};

struct Block {
  size_t start = 0;
  size_t length = 0;
};
// Blocks of `length` from a ring of `size` that together are as long as it.
void DrawBlocks(size_t size, size_t length, SplitMix64& generator, std::vector<Block>& blocks);

}  // namespace stallscope::compare
