#include "analyzer/timeline/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/random.h"

using namespace stallscope;
using model::TimeRange;
using timeline::BusyFractions;
using timeline::Interval;

namespace {

// Nanosecond by nanosecond.
std::vector<double> ByHand(const std::vector<Interval>& intervals, TimeRange range,
                           size_t columns) {
  const int64_t length = range.end_ns - range.start_ns;
  std::vector<double> fractions;
  for (size_t k = 0; k < columns; ++k) {
    const int64_t from = range.start_ns + length * static_cast<int64_t>(k) / int64_t(columns);
    const int64_t to = range.start_ns + length * static_cast<int64_t>(k + 1) / int64_t(columns);
    int64_t covered = 0;
    for (int64_t t = from; t < to; ++t) {
      covered += std::any_of(intervals.begin(), intervals.end(),
                             [&](const Interval& i) { return i.start_ns <= t && t < i.end_ns; });
    }
    fractions.push_back(to > from ? double(covered) / double(to - from) : 0);
  }
  return fractions;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a column's fraction is its covered share") {
    CHECK(BusyFractions({{0, 5}, {12, 20}}, {0, 20}, 2) == std::vector<float>{0.5F, 0.8F});
    CHECK(BusyFractions({{-100, 100}}, {0, 20}, 4) == std::vector<float>{1, 1, 1, 1});
    CHECK(BusyFractions({}, {0, 20}, 2) == std::vector<float>{0, 0});
  }

  TEST_CASE("what is covered twice counts once, in any order") {
    CHECK(BusyFractions({{6, 8}, {0, 5}, {0, 5}, {1, 4}, {3, 7}}, {0, 10}, 1) ==
          std::vector<float>{0.8F});
  }

  TEST_CASE("a million spans of a microsecond look neither like one long span nor like none") {
    std::vector<Interval> spans;
    for (int64_t i = 0; i < 1'000'000; ++i) spans.push_back({i * 3'000, i * 3'000 + 1'000});
    for (const float fraction : BusyFractions(spans, {0, 3'000'000'000}, 100)) {
      CHECK(fraction == doctest::Approx(1.0 / 3).epsilon(1e-3));
    }
  }

  TEST_CASE("ranges without time, none and one column, times at the limits") {
    CHECK(BusyFractions({{0, 5}}, {0, 20}, 0).empty());
    CHECK(BusyFractions({{0, 5}}, {7, 7}, 3) == std::vector<float>{0, 0, 0});
    CHECK(BusyFractions({{5, 5}, {9, 3}}, {0, 10}, 1) == std::vector<float>{0});
    constexpr int64_t kFar = int64_t{1} << 61;
    CHECK(BusyFractions({{-kFar, 0}}, {-kFar, kFar}, 2) == std::vector<float>{1, 0});
    CHECK(BusyFractions({{-kFar, kFar}}, {-kFar, kFar}, 4096) == std::vector<float>(4096, 1.0F));
  }

  TEST_CASE("more columns than nanoseconds: each shows the nanosecond that it is in") {
    CHECK(BusyFractions({{1, 2}}, {0, 2}, 8) == std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1});
  }

  TEST_CASE("any intervals in any range are as counted by hand") {
    test::Random random(7);
    for (int round = 0; round < 300; ++round) {
      const auto start = static_cast<int64_t>(random.Below(50)) - 25;
      const TimeRange range{start, start + 1 + static_cast<int64_t>(random.Below(200))};
      const size_t columns = 1 + random.Below(static_cast<uint64_t>(range.end_ns - range.start_ns));
      std::vector<Interval> intervals(random.Below(20));
      for (Interval& interval : intervals) {
        interval.start_ns = static_cast<int64_t>(random.Below(300)) - 60;
        interval.end_ns = interval.start_ns + static_cast<int64_t>(random.Below(40)) - 2;
      }
      const auto got = BusyFractions(intervals, range, columns);
      const auto want = ByHand(intervals, range, columns);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(round);
        CAPTURE(i);
        CHECK(double{got[i]} == doctest::Approx(want[i]).epsilon(1e-6));
      }
    }
  }
}
