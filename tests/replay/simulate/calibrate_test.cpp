#include <doctest/doctest.h>

#include "replay/simulate/simulate.h"
#include "tests/replay/made_workload.h"

using stallscope::replay::Calibrate;
using stallscope::replay::Simulate;
using stallscope::replay::Workload;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;

namespace {

MadeWorkload Sleeping(double sleep_us, double compute_us) {
  MadeWorkload made({Map("work"), Batch(10), Prefetch(2)}, compute_us);
  made.Costs("work", 0, sleep_us);
  return made;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("if the step waits for its input, the input gets the missing time") {
    MadeWorkload made = Sleeping(1000, 1000);
    made.recorded().samples_per_s = 900;  // and not 1000
    const Workload workload = Calibrate(made.Make());
    REQUIRE(workload.calibration.has_value());
    CHECK(workload.calibration->input_scale == doctest::Approx(1000.0 / 900).epsilon(0.01));
    CHECK(workload.calibration->doubt > 0);
    CHECK(Simulate(workload).samples_per_s == doctest::Approx(900).epsilon(0.01));
  }

  TEST_CASE("if the device dominates, the step gets it") {
    MadeWorkload made = Sleeping(100, 9000);
    made.recorded().samples_per_s = 1000;  // and not 1111
    const Workload workload = Calibrate(made.Make());
    CHECK(workload.calibration->input_scale == 1);
    CHECK(workload.calibration->step_extra_ns > 0);
    CHECK(Simulate(workload).samples_per_s == doctest::Approx(1000).epsilon(0.01));
  }

  TEST_CASE(
      "what launches take beyond their price goes with them, as far as they make up the step") {
    for (const double compute_us : {0.0, 9000.0}) {
      MadeWorkload made({Batch(10)}, compute_us);
      made.spec().trainer.graph = stallscope::GraphMode::kEager;
      made.spec().trainer.emulated.launch_us = 100;
      made.recorded().trainer.kernels = made.recorded().trainer.launches = 80;
      made.recorded().samples_per_s = compute_us > 0 ? 1000 : 1190;  // and not 1110 or 1250
      Workload workload = Calibrate(made.Make());
      const double extra_us = workload.calibration->step_extra_ns / 1e3;
      CHECK(extra_us > 300);
      workload.spec.trainer.graph = stallscope::GraphMode::kCaptured;
      const double step_us = 10 / Simulate(workload).samples_per_s * 1e6;
      if (compute_us > 0) {
        CHECK(step_us > compute_us + 0.1 * extra_us);
      } else {
        CHECK(step_us == doctest::Approx(100 + extra_us / 80).epsilon(0.3));
      }
    }
  }

  TEST_CASE("a run that was faster than its device can be is a factor") {
    MadeWorkload made = Sleeping(100, 9000);
    made.recorded().samples_per_s = 1200;
    const Workload workload = Calibrate(made.Make());
    CHECK(workload.calibration->rest < 1);
    CHECK(Simulate(workload).samples_per_s == doctest::Approx(1200).epsilon(0.01));
  }

  TEST_CASE("what the model explains by itself is left alone") {
    MadeWorkload made = Sleeping(1000, 1000);
    made.recorded().samples_per_s = Simulate(made.Make()).samples_per_s;
    const Workload workload = Calibrate(made.Make());
    CHECK(workload.calibration->input_scale == doctest::Approx(1).epsilon(0.005));
    CHECK(workload.calibration->doubt < 0.01);
  }

  TEST_CASE("the spec that is asked for stays") {
    Workload workload = Sleeping(1000, 1000).Make();
    workload.spec.name = "another";
    CHECK(Calibrate(workload).spec.name == "another");
  }
}
