#include "replay/workload/known_ops.h"

#include <doctest/doctest.h>

using stallscope::replay::KnownDifference;

TEST_SUITE("fast") {
  TEST_CASE("busy and sleep cost what their calls say") {
    const auto more = KnownDifference({"busy(100)"}, {"busy(300)", "sleep(50)"});
    REQUIRE(more.has_value());
    CHECK(more->cpu_ns == doctest::Approx(200'000));
    CHECK(more->blocked_ns == doctest::Approx(50'000));
  }

  TEST_CASE("one element in n costs 1/n of it") {
    const auto more = KnownDifference({}, {"sleep(6400, every=64)"});
    REQUIRE(more.has_value());
    CHECK(more->blocked_ns == doctest::Approx(100'000));
  }

  TEST_CASE("other ops stay what they are, and may have a known one beside them") {
    CHECK(KnownDifference({"flip"}, {"flip"}).has_value());
    const auto less = KnownDifference({"flip", "busy(100)"}, {"flip"});
    REQUIRE(less.has_value());
    CHECK(less->cpu_ns == doctest::Approx(-100'000));
  }

  TEST_CASE("an op that is added, removed or changed has no known cost") {
    CHECK_FALSE(KnownDifference({"resize(64)"}, {"resize(128)"}).has_value());
    CHECK_FALSE(KnownDifference({}, {"flip"}).has_value());
    CHECK_FALSE(KnownDifference({"flip", "busy(1)"}, {"busy(1)"}).has_value());
  }
}
