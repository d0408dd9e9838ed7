#include "analyzer/base/math.h"

#include <doctest/doctest.h>

#include <vector>

using doctest::Approx;
using stallscope::MeanInterval;
using stallscope::Quantile;

TEST_SUITE("fast") {
  TEST_CASE("quantiles interpolate between the closest ranks") {
    const std::vector<double> values = {1, 2, 3, 4};
    CHECK(Quantile(values, 0) == Approx(1));
    CHECK(Quantile(values, 0.5) == Approx(2.5));
    CHECK(Quantile(values, 0.95) == Approx(3.85));
    CHECK(Quantile(values, 1) == Approx(4));
    CHECK(Quantile({}, 0.5) == 0);
  }

  TEST_CASE("the interval of a mean is Student's") {
    // scipy.stats.t.interval(0.95, 4, loc=3, scale=sem([1,2,3,4,5])) = (1.0368, 4.9632)
    const auto interval = MeanInterval(std::vector<double>{1, 2, 3, 4, 5});
    CHECK(interval.mean == Approx(3));
    CHECK(interval.low == Approx(1.0368).epsilon(1e-3));
    CHECK(interval.high == Approx(4.9632).epsilon(1e-3));
  }

  TEST_CASE("one value has an interval of no width, none has zeros") {
    const auto one = MeanInterval(std::vector<double>{7});
    CHECK(one.low == 7);
    CHECK(one.high == 7);
    CHECK(MeanInterval({}).mean == 0);
  }

  TEST_CASE("the quantile continues smoothly past the table") {
    std::vector<double> values;
    for (int i = 0; i < 41; ++i) values.push_back(i);
    // scipy: t(40) = 2.0211, sem = 1.8708
    CHECK(MeanInterval(values).high - 20 == Approx(2.0211 * 1.87083).epsilon(2e-3));
  }
}
