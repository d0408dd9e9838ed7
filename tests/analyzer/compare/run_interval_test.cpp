#include "analyzer/compare/run_interval.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using doctest::Approx;
using stallscope::compare::CompareRuns;

TEST_SUITE("fast") {
  TEST_CASE("equally many runs per side share one variance") {
    // Variance 2.5 on both sides: the standard error is 1, with 8 degrees of freedom.
    const auto change =
        CompareRuns(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{4, 5, 6, 7, 8});
    CHECK(change.at == 3);
    CHECK(change.low == Approx(3 - 2.306));
    CHECK(change.high == Approx(3 + 2.306));
  }

  TEST_CASE("other numbers of runs do not") {
    // Squared errors 10 / 5 and 0.025 / 10: hardly more than the first side's 4 degrees of freedom.
    std::vector<double> steady;
    for (int i = 0; i < 10; ++i) steady.push_back(i % 2 == 0 ? 0.15 : -0.15);
    const auto change = CompareRuns(std::vector<double>{-4, -2, 0, 2, 4}, steady);
    CHECK(change.at == Approx(0).epsilon(1e-12));
    CHECK(change.high == Approx(2.776 * std::sqrt(2 + 0.0025)));
  }

  TEST_CASE("runs that do not vary give an interval of no width") {
    const auto change = CompareRuns(std::vector<double>{1, 1}, std::vector<double>{2, 2, 2});
    CHECK(change.low == 1);
    CHECK(change.high == 1);
  }
}
