#include "analyzer/base/saturated.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using stallscope::SaturatedSum;

TEST_SUITE("fast") {
  TEST_CASE("sums stay at the largest and the smallest number, and are exact up to them") {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    CHECK(SaturatedSum<int64_t>(kMost - 1, 1) == kMost);
    CHECK(SaturatedSum<int64_t>(kMost, 1) == kMost);
    CHECK(SaturatedSum<int64_t>(1, kMost) == kMost);
    CHECK(SaturatedSum<int64_t>(kLeast + 1, -1) == kLeast);
    CHECK(SaturatedSum<int64_t>(kLeast, -1) == kLeast);
    CHECK(SaturatedSum(kMost, kLeast) == -1);
    CHECK(SaturatedSum<uint64_t>(~uint64_t{0} - 1, 1) == ~uint64_t{0});
    CHECK(SaturatedSum<uint64_t>(~uint64_t{0}, 2) == ~uint64_t{0});
  }
}
