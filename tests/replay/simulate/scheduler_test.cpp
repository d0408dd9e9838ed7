#include "replay/simulate/scheduler.h"

#include <doctest/doctest.h>

#include <vector>

#include "replay/simulate/model_constants.h"

using stallscope::replay::kSliceNs;
using stallscope::replay::kTickNs;
using stallscope::replay::Scheduler;

namespace {

constexpr double kMs = 1e6;

// The next event must be `who`'s, at that time.
void CheckNext(Scheduler& scheduler, uint32_t expected, double time_ns) {
  uint32_t who = 99;
  REQUIRE(scheduler.Next(who));
  CHECK(who == expected);
  CHECK(scheduler.now() == doctest::Approx(time_ns));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("threads within the cores do not slow each other down") {
    Scheduler scheduler(2, 8);
    scheduler.Burn(0, 100);
    scheduler.Burn(1, 300);
    CheckNext(scheduler, 0, 100);
    CheckNext(scheduler, 1, 300);
    uint32_t who = 9;
    CHECK_FALSE(scheduler.Next(who));
  }

  TEST_CASE("a part of a core makes all that are busy slower") {
    Scheduler scheduler(1.5, 8);
    scheduler.Burn(0, 75);
    scheduler.Burn(1, 150);
    CheckNext(scheduler, 0, 100);  // both at three quarters
    CheckNext(scheduler, 1, 175);  // alone
  }

  TEST_CASE("an arriving thread takes the core from one that is owed nothing, for its slice") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 1 * kMs);
    scheduler.Burn(1, 1 * kMs);
    CheckNext(scheduler, 1, 1 * kMs);
    CheckNext(scheduler, 0, 2 * kMs);
  }

  TEST_CASE("longer bursts take turns, from tick to tick") {
    static_assert(kTickNs == 4 * kMs && kSliceNs < kTickNs);
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 10 * kMs);
    scheduler.Burn(1, 10 * kMs);
    // 1 runs in [0, 4], [8, 12] and [16, 18], 0 in between and after it.
    CheckNext(scheduler, 1, 18 * kMs);
    CheckNext(scheduler, 0, 20 * kMs);
  }

  TEST_CASE("a thread that goes on at once keeps its core") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 1 * kMs);
    scheduler.Burn(1, 1 * kMs);
    CheckNext(scheduler, 1, 1 * kMs);
    scheduler.Burn(1, 1 * kMs);
    CheckNext(scheduler, 1, 2 * kMs);
    CheckNext(scheduler, 0, 3 * kMs);
  }

  TEST_CASE("a thread that ran too much waits for the end of the slice when it wakes too soon") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 100 * kMs);
    // Alone, 0 begins a slice with each tick. It is in one at 0.5 ms after a tick.
    scheduler.WakeAt(1, 8.5 * kMs);
    CheckNext(scheduler, 1, 8.5 * kMs);
    scheduler.Burn(1, 0.2 * kMs);
    CheckNext(scheduler, 1, 8.7 * kMs);  // at once: measured on Linux 6.18, 22 us
    scheduler.WakeAt(1, 8.75 * kMs);
    CheckNext(scheduler, 1, 8.75 * kMs);
    scheduler.Burn(1, 0.2 * kMs);
    CheckNext(scheduler, 1, 12.2 * kMs);  // it had to wait for the tick at 12 ms
    scheduler.WakeAt(1, 16.5 * kMs);
    CheckNext(scheduler, 1, 16.5 * kMs);
    scheduler.Burn(1, 0.2 * kMs);
    CheckNext(scheduler, 1, 16.7 * kMs);  // it is forgiven by then
  }

  TEST_CASE("a thread that wakes after the slice goes at once, owed or not") {
    Scheduler scheduler(1, 8);
    scheduler.Burn(0, 100 * kMs);
    scheduler.WakeAt(1, 8 * kMs + kSliceNs + 1);
    CheckNext(scheduler, 1, 8 * kMs + kSliceNs + 1);
    scheduler.Burn(1, 0.2 * kMs);
    CheckNext(scheduler, 1, 8.2 * kMs + kSliceNs + 1);
  }

  TEST_CASE("a thread that wakes often waits longer the more threads burn beside it") {
    const auto waits_us = [](uint32_t burn) {
      Scheduler scheduler(1, 8);
      for (uint32_t who = 1; who <= burn; ++who) scheduler.Burn(who, 1e15);
      const auto await = [&] {
        for (uint32_t who = 99; who != 0;) REQUIRE(scheduler.Next(who));
      };
      double waited = 0;
      int bursts = 0;
      for (; scheduler.now() < 20e9; ++bursts) {
        scheduler.WakeAt(0, scheduler.now() + 1.56 * kMs);
        await();
        const double woken = scheduler.now();
        scheduler.Burn(0, 0.2 * kMs);
        await();
        waited += scheduler.now() - woken - 0.2 * kMs;
      }
      CHECK(scheduler.waited_ns() >= waited);
      return waited / bursts / 1e3;
    };
    // Measured on Linux 6.18, with the 22 us of a wake-up: 24, 555 and 855 us.
    CHECK(waits_us(1) == doctest::Approx(0).epsilon(1));
    CHECK(waits_us(2) == doctest::Approx(400).epsilon(0.1));
    CHECK(waits_us(4) == doctest::Approx(830).epsilon(0.15));
  }

  TEST_CASE("a core that becomes idle takes over a thread that waits for another one") {
    Scheduler scheduler(2, 8);
    scheduler.Burn(0, 3 * kMs);
    scheduler.Burn(1, 1 * kMs);
    scheduler.Burn(2, 2 * kMs);  // takes 0's core
    CheckNext(scheduler, 1, 1 * kMs);
    CheckNext(scheduler, 2, 2 * kMs);
    CheckNext(scheduler, 0, 4 * kMs);
    CHECK(scheduler.waited_ns() == doctest::Approx(1 * kMs));
  }

  TEST_CASE("but not one that has just run there, before the next tick") {
    Scheduler scheduler(2, 8);
    scheduler.Burn(0, 9 * kMs);
    scheduler.Burn(1, 1 * kMs);
    scheduler.WakeAt(2, 0.8 * kMs);
    CheckNext(scheduler, 2, 0.8 * kMs);
    scheduler.Burn(2, 9 * kMs);  // takes 0's core
    CheckNext(scheduler, 1, 1 * kMs);
    CheckNext(scheduler, 2, 9.8 * kMs);
    CheckNext(scheduler, 0, 12.2 * kMs);  // ran for 0.8 ms, and from the tick at 4 ms on
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
