// Sums that stop at the largest or smallest number instead of overflowing: times and counts of a
// crafted file can add up to anything.
#pragma once

#include <concepts>
#include <limits>

namespace stallscope {

template <std::integral Number>
constexpr Number SaturatedSum(Number a, Number b) {
  Number sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<Number>::max() : std::numeric_limits<Number>::min();
}

}  // namespace stallscope
