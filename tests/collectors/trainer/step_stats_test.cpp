#include "collectors/trainer/step_stats.h"

#include <doctest/doctest.h>

namespace stallscope {
namespace {

using trainer::StepStats;

TEST_SUITE("fast") {
  TEST_CASE("a wait counts as a stall where the device has nothing to do meanwhile") {
    // Each batch comes 60 after it is asked for, and takes 100.
    StepStats one_by_one;
    one_by_one.Add(8, 0, 60, 160, nullptr);
    one_by_one.Add(8, 160, 220, 320, nullptr);
    CHECK(one_by_one.progress().input_stall == doctest::Approx(120.0 / 320));
    StepStats hidden;  // asked for as soon as the last one is on the device
    hidden.Add(8, 0, 60, 160, nullptr);
    hidden.Add(8, 60, 120, 260, nullptr);
    CHECK(hidden.progress().input_stall == doctest::Approx(60.0 / 260));
    StepStats partly;  // 150 late, 50 after the device is done
    partly.Add(8, 0, 0, 100, nullptr);
    partly.Add(8, 0, 150, 250, nullptr);
    CHECK(partly.progress().input_stall == doctest::Approx(50.0 / 250));
    CHECK(partly.progress().samples_per_s == doctest::Approx(16e9 / 250));
  }
}

}  // namespace
}  // namespace stallscope
