#include "replay/sweep/sweep.h"

#include <doctest/doctest.h>

#include "analyzer/attribution/attribution.h"
#include "replay/sweep/predictor.h"
#include "tests/replay/made_run.h"
#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;

namespace {

void Set(replay::Point& point, double predicted, double half, double measured) {
  point.predicted = replay::Rate{predicted, predicted - half, predicted + half};
  point.runs = {{{measured, measured, measured}, 40, 0, "here"}};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("errors, coverage, width and ranking of the points that have both figures") {
    replay::Sweep sweep = test::PlannedGrid(replay::SweepMode::kBoth, 1);
    Set(sweep.points[0], 110, 11, 100);  // +10 %, covered
    Set(sweep.points[1], 190, 5, 200);   // -5 %, not covered
    sweep.points[2].unpriced = "not known";
    auto errors = ErrorsOf(sweep);
    CHECK(errors.points == 2);
    CHECK(*errors.median == doctest::Approx(0.075));
    CHECK(*errors.p95 == doctest::Approx(0.0975));
    CHECK(*errors.covered == doctest::Approx(0.5));
    CHECK(*errors.median_half_width == doctest::Approx((0.1 + 5.0 / 190) / 2));
    CHECK(*errors.best_within == doctest::Approx(0));
    CHECK(errors.unpriced == 1);
    CHECK(errors.failed == 0);
    Set(sweep.points[0], 210, 1, 100);
    CHECK(*ErrorsOf(sweep).best_within == doctest::Approx(0.5));
  }

  TEST_CASE("a steady run of a prediction on the recorded machine is kept for later intervals") {
    model::Run run = test::MakeRun();
    run.info.host.name = "here";
    const auto attribution = attribution::Attribute(run);
    const auto predictor = replay::Predictor::Make(run, attribution);
    REQUIRE(predictor.ok());
    const auto kept = [&](const replay::Point& point) {
      return predictor.value().VerifiedOf(point);
    };
    replay::Point point;
    Set(point, 1000, 100, 900);
    const auto verified = kept(point);
    REQUIRE(verified.has_value());
    CHECK(verified->host == "here");
    CHECK(verified->predicted == 1000);
    CHECK(verified->measured == 900);
    CHECK(verified->half_width == doctest::Approx(0.1));

    replay::Point other = point;
    other.runs.front().host = "there";
    CHECK_FALSE(kept(other).has_value());
    other = point;
    other.runs.push_back({{1000, 1000, 1000}, 40, 0, "here"});  // 11% faster: one was disturbed
    CHECK_FALSE(kept(other).has_value());
    other.runs.back().rate.samples_per_s = 950;
    CHECK(kept(other)->measured == 925);
    other = point;
    other.runs.front().others = 0.2;
    CHECK_FALSE(kept(other).has_value());
    other = point;
    other.probed = true;
    CHECK_FALSE(kept(other).has_value());
    other = point;
    other.error = "its data differ";
    CHECK_FALSE(kept(other).has_value());
    other = point;
    other.predicted.reset();
    CHECK_FALSE(kept(other).has_value());
  }

  TEST_CASE("without both figures there are no errors") {
    const auto errors = ErrorsOf(test::PlannedGrid(replay::SweepMode::kBoth));
    CHECK(errors.points == 0);
    CHECK_FALSE(errors.median.has_value());
    CHECK_FALSE(errors.best_within.has_value());
  }
}
