// The rank test on two sets of runs: does one side's value tend to be larger than the other's?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stallscope::compare {

struct RankTest {
  double u = 0;  // pairs in which new is the larger; a tie counts half
  double p = 1;  // two-sided
  bool exact = false;
};

// Exact without ties and up to 20 values per side; else the normal approximation, corrected for
// ties and continuity. Neither side may be empty or hold a NaN.
RankTest MannWhitney(std::span<const double> base, std::span<const double> now);

// How many of the orderings of m + n distinct values give U = 0, 1, ... m * n. m and n up to 20:
// the sum, C(40, 20), is far below 2^64.
std::vector<uint64_t> RankCounts(size_t m, size_t n);

}  // namespace stallscope::compare
