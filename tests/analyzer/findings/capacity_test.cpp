#include "analyzer/findings/capacity.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/analyzer/findings/case_builder.h"

using doctest::Approx;
using stallscope::StageId;
using stallscope::attribution::At;
using stallscope::attribution::Category;
using stallscope::findings::Effect;
using stallscope::findings::Gain;
using stallscope::findings::GainOf;
using stallscope::findings::Load;
using stallscope::findings::ProbabilityEmpty;
using stallscope::findings::SamplesPerSecond;
using stallscope::findings::StageDemand;

namespace {

// A producer of `y` seconds a batch with one worker, a consumer of `x`, `places` between.
Load Pair(double x, double y, double places, double variation) {
  Load load;
  load.batch = 1;
  load.exposed_s[At(Category::kCompute)] = x;
  load.device_variation = variation;
  StageDemand stage;
  stage.stage = StageId{0};
  stage.own_threads = true;
  stage.items = 1;
  stage.service_s = y;
  stage.variation = variation;
  stage.places = places;
  load.stages.push_back(stage);
  load.measured = SamplesPerSecond(load);
  return load;
}

Effect Workers(double workers) {
  return {[workers](Load& load, double) { load.stages[0].workers = workers; }};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("probability of an empty buffer: published formula") {
    // n = 3 places: the exponent is 4.
    CHECK(ProbabilityEmpty(1, 2, 4) == Approx((1 - 0.5) / (1 - std::pow(0.5, 4))));
    CHECK(ProbabilityEmpty(1, 1, 4) == Approx(0.25));
    CHECK(ProbabilityEmpty(1, 1 + 1e-7, 4) == Approx(0.25).epsilon(1e-4));
    CHECK(ProbabilityEmpty(2, 1, 1e6) == Approx(0));
    CHECK(ProbabilityEmpty(0, 1, 4) == 1);
    CHECK(ProbabilityEmpty(1, 0, 4) == 0);
  }

  TEST_CASE("exponential times: published wait") {
    const double empty = (1 - 0.8) / (1 - std::pow(0.8, 4));
    CHECK(SamplesPerSecond(Pair(0.8, 1.0, 3, 1.0)) == Approx(1 / (0.8 + empty * 1.0)));
  }

  TEST_CASE("without a queue, stages take turns") {
    CHECK(SamplesPerSecond(Pair(1.0, 2.0, 0, 0.3)) == Approx(1 / 3.0));
  }

  TEST_CASE("regular times need a short queue") {
    CHECK(SamplesPerSecond(Pair(1.0, 2.0, 2, 0.0)) == Approx(0.5).epsilon(0.001));
    CHECK(SamplesPerSecond(Pair(2.0, 1.0, 2, 0.0)) == Approx(0.5).epsilon(0.001));
    CHECK(SamplesPerSecond(Pair(1.0, 1.0, 2, 1.0)) < SamplesPerSecond(Pair(1.0, 1.0, 2, 0.1)));
  }

  TEST_CASE("workers help until the device is the bottleneck") {
    const Load load = Pair(1.0, 3.0, 4, 0.1);
    const std::optional<Gain> two = GainOf(load, Workers(2));
    const std::optional<Gain> eight = GainOf(load, Workers(8));
    REQUIRE(two.has_value());
    REQUIRE(eight.has_value());
    CHECK(two->predicted == Approx(2).epsilon(0.01));
    CHECK(eight->predicted == Approx(3).epsilon(0.01));
    CHECK(two->low < 2);
    CHECK(two->high > 2);
  }

  TEST_CASE("cores limit CPU time, not the number of workers") {
    Load sleeps = Pair(0.1, 1.0, 4, 0.1);
    sleeps.cores = 2;
    Load burns = sleeps;
    burns.stages[0].cpu_s = 1.0;
    CHECK(GainOf(sleeps, Workers(8))->predicted == Approx(8).epsilon(0.05));
    CHECK(GainOf(burns, Workers(8))->predicted == Approx(2).epsilon(0.05));
  }

  TEST_CASE("unexplained time widens the interval") {
    Load exact = Pair(1.0, 3.0, 4, 0.1);
    Load slower = exact;
    slower.measured *= 0.7;
    const Gain sure = *GainOf(exact, Workers(2));
    const Gain unsure = *GainOf(slower, Workers(2));
    CHECK(unsure.high - unsure.low > sure.high - sure.low);
    // Time that stays is the least that it can be, waiting that shrinks the most.
    CHECK(unsure.low < sure.low);
    CHECK(unsure.predicted > sure.predicted);
    slower.measured = exact.measured * 0.3;
    CHECK_FALSE(GainOf(slower, Workers(2)).has_value());
  }

  TEST_CASE("no change, no gain") {
    Load load = Pair(1.0, 3.0, 4, 0.1);
    load.spread = 0.01;
    const Gain gain = *GainOf(load, {[](Load&, double) {}});
    CHECK(gain.predicted == Approx(1));
    CHECK(gain.low < 1);
    CHECK(gain.high > 1);
  }

  TEST_CASE("a stage in the trainer's thread adds to its step") {
    Load load = Pair(1.0, 1.0, 4, 0.1);
    load.stages[0].own_threads = false;
    CHECK(SamplesPerSecond(load) == Approx(0.5));
  }

  TEST_CASE("a case's load reproduces its throughput") {
    stallscope::test::CaseBuilder builder;
    builder.Stall("decode", stallscope::attribution::Cause::kCpu, 0.5);
    const stallscope::findings::Case c{builder.run, builder.attribution, builder.verdict,
                                       builder.spec};
    const std::optional<Load> load = stallscope::findings::LoadOf(c);
    REQUIRE(load.has_value());
    CHECK(load->batch == 32);
    // The shuffle in decode's threads costs it one part in twenty.
    CHECK(SamplesPerSecond(*load) == Approx(load->measured).epsilon(0.05));
  }

  TEST_CASE("a late change gains only for the rest of the run") {
    const Load load = Pair(1.0, 10.0, 2, 0.05);
    Effect spared{[](Load& after, double) { after.stages[0].service_s = 0; }};
    const double all = GainOf(load, spared)->predicted;
    REQUIRE(all > 5);
    // A beginning that differs and is short is warm-up, which no throughput counts.
    spared.late = 0.25;
    CHECK(GainOf(load, spared)->predicted == Approx(all));
    spared.late = 0.5;
    CHECK(GainOf(load, spared)->predicted == Approx(1 / (0.5 + 0.5 / all)));
    // One that hardly differs is not seen as warm-up.
    Effect hardly{[](Load& after, double) { after.stages[0].service_s *= 0.8; }};
    const double little = GainOf(load, hardly)->predicted;
    hardly.late = 0.25;
    CHECK(GainOf(load, hardly)->predicted == Approx(1 / (0.25 + 0.75 / little)));
  }

  TEST_CASE("recorded bursts replace the law's estimate") {
    Load load = Pair(1.0, 0.8, 1, 8);
    load.burst_s = 0.5;
    CHECK(SamplesPerSecond(load) == Approx(1 / 1.5));
    load.burst_s = 0;
    CHECK(SamplesPerSecond(load) == Approx(1));
    // What the mean cannot deliver is no burst.
    load.stages[0].service_s = 2;
    CHECK(SamplesPerSecond(load) == Approx(0.5));
  }
}
