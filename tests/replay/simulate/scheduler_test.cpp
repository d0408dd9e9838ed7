#include "replay/simulate/scheduler.h"

#include <doctest/doctest.h>

using stallscope::replay::Scheduler;

TEST_SUITE("fast") {
  TEST_CASE("threads within the cores do not slow each other down") {
    Scheduler scheduler(2, 8);
    scheduler.Burn(0, 100);
    scheduler.Burn(1, 300);
    uint32_t who = 9;
    REQUIRE(scheduler.Next(who));
    CHECK(who == 0);
    CHECK(scheduler.now() == doctest::Approx(100));
    REQUIRE(scheduler.Next(who));
    CHECK(scheduler.now() == doctest::Approx(300));
    CHECK_FALSE(scheduler.Next(who));
  }

  TEST_CASE("more threads than cores share them evenly") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 100);
    scheduler.Burn(1, 300);
    uint32_t who = 9;
    REQUIRE(scheduler.Next(who));
    CHECK(who == 0);
    CHECK(scheduler.now() == doctest::Approx(200));  // both at half the speed
    REQUIRE(scheduler.Next(who));
    CHECK(scheduler.now() == doctest::Approx(400));  // the other one alone
  }

  TEST_CASE("a burst that starts in the middle of others is not moved ahead of its share") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 200);
    scheduler.WakeAt(1, 100);
    uint32_t who = 9;
    REQUIRE(scheduler.Next(who));
    CHECK(who == 1);
    scheduler.Burn(1, 100);
    REQUIRE(scheduler.Next(who));
    CHECK(who == 0);  // both have 100 left, and share
    CHECK(scheduler.now() == doctest::Approx(300));
  }

  TEST_CASE("sleeping needs no core") {
    Scheduler scheduler(1, 8);
    for (uint32_t who = 0; who < 8; ++who) scheduler.WakeAt(who, 50);
    uint32_t who = 9;
    for (int i = 0; i < 8; ++i) {
      REQUIRE(scheduler.Next(who));
      CHECK(scheduler.now() == 50);
    }
  }

  TEST_CASE("a time in the past is now") {
    Scheduler scheduler(1, 8);
    scheduler.WakeAt(0, 100);
    uint32_t who = 9;
    REQUIRE(scheduler.Next(who));
    scheduler.WakeAt(0, 20);
    REQUIRE(scheduler.Next(who));
    CHECK(scheduler.now() == 100);
    CHECK(scheduler.events() == 2);
  }
}
