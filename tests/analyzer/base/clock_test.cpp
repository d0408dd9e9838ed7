#include "analyzer/base/clock.h"

#include <doctest/doctest.h>

using stallscope::ClockMap;

TEST_SUITE("fast") {
  TEST_CASE("a clock map goes through its anchors, linear in between") {
    ClockMap map;
    map.Add({1000, 500});
    map.Add({3000, 1500});
    map.Add({4000, 3500});
    CHECK(map.ToNs(1000) == 500);
    CHECK(map.ToNs(2000) == 1000);
    CHECK(map.ToNs(3000) == 1500);
    CHECK(map.ToNs(3500) == 2500);
    CHECK(map.ToNs(4000) == 3500);
  }

  TEST_CASE("a clock map continues past its ends with the nearest slope") {
    ClockMap map;
    map.Add({1000, 500});
    map.Add({3000, 1500});
    map.Add({4000, 3500});
    CHECK(map.ToNs(4500) == 4500);
    CHECK(map.ToNs(800) == 400);
  }

  TEST_CASE("an anchor that goes backwards in either clock changes nothing") {
    ClockMap map;
    map.Add({1000, 500});
    map.Add({3000, 1500});
    map.Add({2900, 1600});
    map.Add({3100, 1400});
    map.Add({3000, 1500});
    CHECK(map.ToNs(3000) == 1500);
    CHECK(map.ToNs(5000) == 2500);
  }

  TEST_CASE("a clock map never runs backwards across odd slopes") {
    ClockMap map;
    uint64_t ticks = 12345;
    int64_t ns = 777;
    for (uint64_t i = 1; i < 200; ++i) {
      map.Add({ticks, ns});
      ticks += 1000003 + i * 7;
      ns += 416667 + static_cast<int64_t>(i % 13);
    }
    int64_t before = map.ToNs(12345);
    for (uint64_t t = 12345; t < ticks; t += 49999) {
      const int64_t now = map.ToNs(t);
      CHECK(now >= before);
      before = now;
    }
  }

  TEST_CASE("ticks follow CLOCK_MONOTONIC through anchors of the real clocks") {
    ClockMap map;
    map.Add(stallscope::ReadClockAnchor());
    const int64_t until = stallscope::MonotonicNs() + 2'000'000;
    while (stallscope::MonotonicNs() < until) {
    }
    map.Add(stallscope::ReadClockAnchor());
    const int64_t before = stallscope::MonotonicNs();
    const int64_t seen = map.ToNs(stallscope::NowTicks());
    const int64_t after = stallscope::MonotonicNs();
    // A hundred times what the anchors' own error can make of such a short extrapolation.
    CHECK(seen > before - 100'000);
    CHECK(seen < after + 100'000);
  }
}
