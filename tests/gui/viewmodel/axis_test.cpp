#include "gui/viewmodel/axis.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using stallscope::viewmodel::TimeTicks;

TEST_SUITE("fast") {
  TEST_CASE("axis: ticks are at round times, from the run's start") {
    const auto ticks = TimeTicks({1'000'050, 1'000'450}, 1'000'000, 400, 90);
    REQUIRE(ticks.size() == 4);
    CHECK(ticks[0].x == 50);
    CHECK(ticks[1].x == 150);
    CHECK(ticks[0].text == "0.1 us");
    CHECK(TimeTicks({5, 5}, 0, 400, 90).empty());
    CHECK(TimeTicks({0, 5}, 0, 0, 90).empty());
  }

  TEST_CASE("axis: the last tick of a damaged trace may have no next one") {
    const int64_t last = std::numeric_limits<int64_t>::max();
    for (const int64_t end : {last, last - 1, last / 2}) {
      const auto ticks = TimeTicks({0, end}, 0, 400, 90);
      CHECK(!ticks.empty());
      CHECK(ticks.size() < 10);
      CHECK(TimeTicks({0, end}, 0, 100, 90).size() < 3);  // narrower than a step of any length
    }
  }
}
