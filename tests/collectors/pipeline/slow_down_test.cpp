#include "collectors/pipeline/slow_down.h"

#include <doctest/doctest.h>

#include "analyzer/base/clock.h"

using namespace stallscope;
using pipeline::SlowDown;

TEST_SUITE("fast") {
  TEST_CASE("slow-down: only the chosen stage pays, by its work") {
    SlowDown slow_down;
    SlowDown::Debt debt;
    const StageId decode{3};
    CHECK(slow_down.ModeOf(decode) == SlowDown::Mode::kOff);
    slow_down.Delay(decode, 4'000, 1, debt);
    CHECK(slow_down.paid().elements == 0);
    slow_down.Choose(decode, 0.25);
    CHECK(slow_down.ModeOf(decode) == SlowDown::Mode::kSlow);
    CHECK(slow_down.ModeOf(StageId{4}) == SlowDown::Mode::kOff);
    slow_down.Delay(decode, 4'000, 1, debt);
    slow_down.Delay(decode, 8'000, 0.5, debt);
    slow_down.Delay(StageId{4}, 8'000, 0.5, debt);
    CHECK(slow_down.paid().elements == 2);
    CHECK(slow_down.paid().work_ns == 12'000);
    // Too little to burn or to sleep for: both are owed, separately.
    CHECK(slow_down.paid().delay_ns == 0);
    CHECK(debt.burn_ns == 2'000);
    CHECK(debt.sleep_ns == 1'000);
    slow_down.Delayed(decode, 700);
    slow_down.Delayed(StageId{4}, 700);
    CHECK(slow_down.paid().delay_ns == 700);
    slow_down.Choose(StageId::None(), 0);
    CHECK(slow_down.paid().elements == 0);
    CHECK(slow_down.ModeOf(decode) == SlowDown::Mode::kOff);
    CHECK(slow_down.ModeOf(StageId::None()) == SlowDown::Mode::kOff);
  }

  TEST_CASE("slow-down: burning takes CPU time, sleeping takes wall time, and too much is kept") {
    SlowDown slow_down;
    const StageId stage{0};
    slow_down.Choose(stage, 0.5);
    SlowDown::Debt burns;
    const int64_t cpu = ThreadCpuNs();
    slow_down.Delay(stage, 4'000'000, 1, burns);
    CHECK(ThreadCpuNs() - cpu >= 2'000'000);
    CHECK(burns.burn_ns <= 0);
    CHECK(slow_down.paid().delay_ns >= 2'000'000);
    SlowDown::Debt sleeps;
    const int64_t wall = MonotonicNs();
    slow_down.Delay(stage, 4'000'000, 0, sleeps);
    CHECK(MonotonicNs() - wall >= 2'000'000);
    CHECK(sleeps.sleep_ns <= 0);
    CHECK(slow_down.paid().delay_ns >= 4'000'000);
  }

  TEST_CASE("slow-down: watching adds up the work of every stage and delays nothing") {
    SlowDown slow_down;
    slow_down.Watch();
    CHECK(slow_down.ModeOf(StageId{0}) == SlowDown::Mode::kWatch);
    slow_down.Watched(StageId{0}, 5);
    slow_down.Watched(StageId{0}, 7);
    slow_down.Watched(StageId{SlowDown::kStages}, 7);  // past the table: left out
    CHECK(slow_down.watched_ns(StageId{0}) == 12);
    CHECK(slow_down.watched_ns(StageId{1}) == 0);
    CHECK(slow_down.watched_ns(StageId{SlowDown::kStages}) == 0);
  }
}
