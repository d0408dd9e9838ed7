#include "replay/simulate/self_check.h"

#include <doctest/doctest.h>

#include <string>

#include "replay/simulate/simulate.h"
#include "tests/replay/made_workload.h"

using stallscope::replay::Calibrate;
using stallscope::replay::CheckLikeness;
using stallscope::replay::Simulate;
using stallscope::replay::Workload;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;

namespace {

// The input takes 10 ms, the device 5: the trainer waits for half of the time.
MadeWorkload Waiting() {
  MadeWorkload made({Map("work"), Batch(10), Prefetch(2)}, 5000);
  made.Costs("work", 0, 1000);
  made.recorded().samples_per_s = 1000;
  return made;
}

double HalfWidth(const Workload& workload) {
  const auto prediction = Simulate(workload);
  return prediction.high / prediction.samples_per_s - 1;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("differences within what repeated runs show mean nothing") {
    const auto check = CheckLikeness({{"it waits", 0.50, 0.58, 0.1}, {"works", 0.2, 0.15, 0.1}});
    CHECK(check.doubt == 0);
    CHECK(check.unexplained.empty());
  }

  TEST_CASE("what the simulation lacks is doubt, and is said") {
    const auto check = CheckLikeness({{"it waits", 0.50, 0.10, 0.1}, {"works", 0.2, 0.15, 0.1}});
    CHECK(check.doubt == doctest::Approx(0.5 * 0.3));
    REQUIRE(check.unexplained.size() == 1);
    CHECK(check.unexplained[0] ==
          "in the recorded run it waits 50% of the time, in its simulation 10%");
  }

  TEST_CASE("a simulation as fast as the recording, for another reason, widens the intervals") {
    MadeWorkload made = Waiting();
    made.recorded().input_stall = 0.5;
    const Workload alike = Calibrate(made.Make());
    CHECK(alike.calibration->unexplained.empty());
    made.recorded().input_stall = 0.95;
    const Workload unlike = Calibrate(made.Make());
    REQUIRE(unlike.calibration->unexplained.size() == 1);
    CHECK(unlike.calibration->unexplained[0].find("waits for its input 95%") != std::string::npos);
    CHECK(HalfWidth(unlike) > HalfWidth(alike) + 0.05);
    CHECK(Simulate(unlike).samples_per_s == Simulate(alike).samples_per_s);
  }

  TEST_CASE(
      "a recording whose threads waited for cores that the simulation has free is not explained") {
    MadeWorkload made = Waiting();
    made.recorded().busy_cores = 0.1;
    made.recorded().waited_cores = 0.005;
    CHECK(Calibrate(made.Make()).calibration->unexplained.empty());
    made.recorded().waited_cores = 1;
    CHECK(Calibrate(made.Make()).calibration->unexplained.size() == 1);
  }

  TEST_CASE("unexplained CPU matters where it leaves no core") {
    MadeWorkload made = Waiting();
    made.recorded().busy_cores = 1.4;  // of 2
    CHECK(Calibrate(made.Make()).calibration->unexplained.empty());
    made.recorded().busy_cores = 1.9;
    const Workload short_of_cores = Calibrate(made.Make());
    REQUIRE(short_of_cores.calibration->unexplained.size() == 1);
    CHECK(short_of_cores.calibration->unexplained[0] ==
          "in the recorded run the cores are in use 95% of the time, in its simulation 0%");
  }

  TEST_CASE("earlier errors widen every interval") {
    Workload workload = Calibrate(Waiting().Make());
    const double half = HalfWidth(workload);
    workload.calibration->widening = 1.5;
    CHECK(HalfWidth(workload) == doctest::Approx(1.5 * half));
  }
}
