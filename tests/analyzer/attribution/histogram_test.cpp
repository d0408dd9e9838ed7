#include "analyzer/attribution/histogram.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random.h"

using namespace stallscope::attribution;
using stallscope::test::Random;

namespace {

std::vector<int64_t> Durations(Random& random, size_t count) {
  std::vector<int64_t> durations(count);
  const unsigned bits = 1 + static_cast<unsigned>(random.Below(40));
  for (int64_t& ns : durations) ns = static_cast<int64_t>(random.OfAnyLength(bits));
  return durations;
}

// The value of the closest rank below, which a histogram can at best tell.
double ExactQuantile(std::vector<int64_t> sorted, double q) {
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(
      sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))]);
}

bool Near(double value, double exact) { return std::abs(value - exact) <= 0.01 * exact + 1e-9; }

bool Same(const Quantiles& a, const Quantiles& b) {
  return a.mean == b.mean && a.p50 == b.p50 && a.p95 == b.p95 && a.p99 == b.p99 &&
         a.variation == b.variation;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("histogram: exact mean, quantiles off by less than 1%") {
    Random random(4);
    for (int i = 0; i < 500; ++i) {
      const auto durations = Durations(random, 1 + random.Below(300));
      DurationHistogram histogram;
      double sum = 0;
      for (const int64_t ns : durations) {
        histogram.Add(ns);
        sum += static_cast<double>(ns);
      }
      const auto n = static_cast<double>(durations.size());
      const Quantiles summary = histogram.Summary();
      REQUIRE(histogram.count() == durations.size());
      REQUIRE(summary.mean == doctest::Approx(sum / n).epsilon(1e-12));
      REQUIRE(Near(summary.p50, ExactQuantile(durations, 0.5)));
      REQUIRE(Near(summary.p95, ExactQuantile(durations, 0.95)));
      REQUIRE(Near(summary.p99, ExactQuantile(durations, 0.99)));
      double squares = 0;
      for (const int64_t ns : durations) {
        squares += std::pow(static_cast<double>(ns) - summary.mean, 2);
      }
      const double variation = summary.mean > 0 ? std::sqrt(squares / n) / summary.mean : 0;
      REQUIRE(std::abs(summary.variation - variation) <= 0.02 * variation + 0.01);
    }
  }

  TEST_CASE("histogram: merging gives the same in any order") {
    Random random(5);
    for (int i = 0; i < 200; ++i) {
      const auto durations = Durations(random, random.Below(200));
      DurationHistogram all;
      std::vector<DurationHistogram> parts(3);
      for (const int64_t ns : durations) {
        all.Add(ns);
        parts[random.Below(3)].Add(ns);
      }
      DurationHistogram forward;
      DurationHistogram backward;
      for (size_t p = 0; p < 3; ++p) {
        forward.Merge(parts[p]);
        backward.Merge(parts[2 - p]);
      }
      REQUIRE(Same(forward.Summary(), all.Summary()));
      REQUIRE(Same(backward.Summary(), all.Summary()));
      REQUIRE(forward.count() == durations.size());
    }
  }

  TEST_CASE("histogram: empty, one, largest and negative values") {
    DurationHistogram histogram;
    CHECK(Same(histogram.Summary(), Quantiles{}));
    histogram.Add(-5);
    CHECK(histogram.Summary().p99 == 0);
    CHECK(histogram.count() == 1);
    DurationHistogram longest;
    longest.Add(std::numeric_limits<int64_t>::max());
    CHECK(Near(longest.Summary().p50, 9.223372036854775807e18));
    for (int64_t ns = 0; ns < 64; ++ns) {  // short ones are kept as they are
      DurationHistogram one;
      one.Add(ns);
      CHECK(one.Summary().p50 == static_cast<double>(ns));
    }
  }
}
