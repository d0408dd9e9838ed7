#include "replay/whatif/speed_up.h"

#include <doctest/doctest.h>

#include "tests/replay/made_workload.h"

using stallscope::replay::SpeedUpCurve;
using stallscope::replay::SpeedUpCurves;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;

TEST_SUITE("fast") {
  TEST_CASE("the stage that binds has a curve that rises until the device binds") {
    MadeWorkload made({Map("work"), Map("other"), Batch(10), Prefetch(2)}, 5000);
    made.Costs("work", 0, 1000).Costs("other", 0, 10);
    const auto curves = SpeedUpCurves(made.Make(), {1, 1.5, 4});
    REQUIRE(curves.size() == 3);
    const SpeedUpCurve& work = curves[0];
    CHECK(work.stage == "work");
    REQUIRE(work.points.size() == 3);
    CHECK(work.points[0].samples_per_s == doctest::Approx(990).epsilon(0.02));
    CHECK(work.points[1].samples_per_s == doctest::Approx(1478).epsilon(0.02));
    CHECK(work.points[2].samples_per_s == doctest::Approx(2000).epsilon(0.02));
    CHECK(curves[1].stage == "other");
    CHECK(curves[1].points[2].samples_per_s == doctest::Approx(997).epsilon(0.02));
    CHECK(curves[2].stage == "trainer");
    CHECK(curves[2].points[2].samples_per_s == doctest::Approx(990).epsilon(0.02));
    for (const SpeedUpCurve& curve : curves) {
      for (const auto& point : curve.points) {
        CHECK(point.low < point.samples_per_s);
        CHECK(point.high > point.samples_per_s);
      }
    }
  }
}
