#include "analyzer/attribution/summary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::attribution;
using doctest::Approx;
using test::Random;
using test::RunBuilder;

namespace {

// Steps of these durations, a tenth of each a stall, two samples each.
Attribution Of(const std::vector<int64_t>& durations) {
  RunBuilder b;
  int64_t now = 0;
  for (size_t k = 0; k < durations.size(); ++k) {
    const int64_t end = now + durations[k];
    b.Step({.index = k,
            .requested = now,
            .received = now + durations[k] / 10,
            .issued = end,
            .done = end,
            .samples = 2});
    now = end;
  }
  return Attribute(b.Take());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("throughput: the window's samples over its time") {
    const Attribution a = Of({1000, 1000, 1000, 1000});
    REQUIRE(a.throughput.has_value());
    CHECK(a.throughput->samples_per_s == Approx(2e6));
    CHECK(a.throughput->low == Approx(2e6));
    CHECK(a.throughput->high == Approx(2e6));
    CHECK(!Attribute(RunBuilder().Take()).throughput.has_value());
  }

  TEST_CASE("no intervals from one or two steps") {
    for (const bool enough : {false, true}) {
      const Attribution a = enough ? Of({1000, 1100, 1000}) : Of({1000, 1100});
      CHECK(a.throughput->bounded == enough);
      CHECK((a.throughput->low < a.throughput->samples_per_s) == enough);
      CHECK(a.breakdown[At(Category::kInputStall)]->bounded == enough);
      CHECK(StepRate(a)->bounded == enough);
    }
  }

  TEST_CASE("step rate: needs no samples, varies as the steps do") {
    const auto even = StepRate(Of({1000, 1000, 1000, 1000}));
    REQUIRE(even.has_value());
    CHECK(even->samples_per_s == Approx(1e6));
    CHECK(even->low == Approx(1e6));
    const auto uneven = StepRate(Of({1000, 1200, 1000, 1200}));
    CHECK(uneven->samples_per_s == Approx(1e9 / 1100));
    CHECK(uneven->low < uneven->samples_per_s * 0.95);
    CHECK(uneven->high > uneven->samples_per_s * 1.05);
    CHECK_FALSE(StepRate(Attribute(RunBuilder().Take())).has_value());
  }

  TEST_CASE("warm-up is left out of the throughput and of the step times") {
    const Attribution a = Of({90'000, 1000, 1000, 1000, 1000});
    CHECK(a.throughput->samples_per_s == Approx(2e6));
    CHECK(a.step_ns->mean == 1000);
    CHECK(a.window.steps == 4);
  }

  TEST_CASE("the step times' quantiles, interpolated between the closest ranks") {
    const Attribution a = Of({1000, 1040, 1010, 1030, 1020});
    REQUIRE(a.step_ns.has_value());
    CHECK(a.step_ns->mean == Approx(1020));
    CHECK(a.step_ns->p50 == Approx(1020));
    CHECK(a.step_ns->p95 == Approx(1038));
    CHECK(a.step_ns->p99 == Approx(1039.6));
    CHECK(a.step_ns->variation == Approx(std::sqrt(200.0) / 1020));
    CHECK(!Attribute(RunBuilder().Take()).step_ns.has_value());
  }

  TEST_CASE("a ratio's interval: the jackknife's, by hand") {
    // Pseudo values of sum(x) / sum(y): 3 r - 2 r without block i.
    const std::vector<double> over = {1, 2, 6};
    const std::vector<double> of = {2, 3, 4};
    const double r = 1.0;
    const double pseudo[] = {3 * r - 2 * 8.0 / 7, 3 * r - 2 * 7.0 / 6, 3 * r - 2 * 3.0 / 5};
    const double mean = (pseudo[0] + pseudo[1] + pseudo[2]) / 3;
    double squares = 0;
    for (const double p : pseudo) squares += (p - mean) * (p - mean);
    const double half = 4.303 * std::sqrt(squares / 2 / 3);
    const auto interval = RatioInterval(over, of);
    CHECK(interval.mean == Approx(1));
    CHECK(interval.low == Approx(1 - half));
    CHECK(interval.high == Approx(1 + half));
    CHECK(RatioInterval({}, {}).mean == 0);
    CHECK(RatioInterval({3}, {6}).low == Approx(0.5));
  }

  TEST_CASE("95% interval covers the truth about 19 times in 20") {
    Random random(11);
    int held = 0;
    constexpr int kRuns = 400;
    for (int i = 0; i < kRuns; ++i) {
      std::vector<double> over;
      std::vector<double> of;
      for (int s = 0; s < 200; ++s) {
        of.push_back(100 + static_cast<double>(random.Below(21)));
        over.push_back(of.back() * 0.3 + static_cast<double>(random.Below(21)) - 10);
      }
      const auto interval = RatioInterval(over, of);
      held += interval.low <= 0.3 && 0.3 <= interval.high ? 1 : 0;
    }
    CHECK(held >= kRuns * 91 / 100);
    CHECK(held <= kRuns * 99 / 100);
  }

  TEST_CASE("fractions of the window with their intervals") {
    const Attribution a = Of({1000, 1000, 1000});
    const auto& stall = a.breakdown[At(Category::kInputStall)];
    REQUIRE(stall.has_value());
    CHECK(stall->fraction == Approx(0.1));
    CHECK(stall->low == Approx(0.1));
    CHECK(stall->high == Approx(0.1));
    CHECK(a.breakdown[At(Category::kCompute)]->fraction == Approx(0.9));
    CHECK(!a.breakdown[At(Category::kLaunch)].has_value());
  }
}
