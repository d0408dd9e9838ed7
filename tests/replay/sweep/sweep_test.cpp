#include "replay/sweep/sweep.h"

#include <doctest/doctest.h>

#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::Measured;
using replay::Point;
using replay::SweepMode;

namespace {

replay::RunFigure Figure(double rate, double half) {
  return {{rate, rate - half, rate + half}, 40, static_cast<uint64_t>(rate), "here"};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a measurement is the mean of the runs, no narrower than their spread") {
    Point point;
    CHECK_FALSE(Measured(point).has_value());
    point.runs = {Figure(100, 4)};
    CHECK(*Measured(point) == replay::Rate{100, 96, 104});
    point.runs = {Figure(100, 4), Figure(120, 4)};
    CHECK(Measured(point)->samples_per_s == 110);
    CHECK(Measured(point)->low == 100);
    CHECK(Measured(point)->high == 120);
    point.runs = {Figure(100, 1), Figure(101, 1), Figure(102, 1), Figure(99, 1), Figure(98, 1)};
    CHECK(Measured(point)->samples_per_s == 100);
    CHECK(Measured(point)->low == doctest::Approx(100 - 2.776 * 0.7071).epsilon(0.001));
    CHECK(MemoryOf(point) == 102);
  }

  TEST_CASE("a point needs what its mode asks for, until an error or a figure") {
    replay::Sweep sweep = test::PlannedGrid(SweepMode::kBoth, 1);
    CHECK(Configurations(sweep) == 3);
    CHECK(sweep.base_point == 1);
    Point& point = sweep.points[0];
    CHECK(NeedsPrediction(sweep, point));
    CHECK(NeedsRun(sweep, point));
    CHECK_FALSE(NeedsProbe(sweep, point));
    point.unpriced = "not known";
    CHECK(NeedsProbe(sweep, point));
    point.probed = true;
    CHECK_FALSE(NeedsProbe(sweep, point));
    point.runs = {Figure(1, 0)};
    CHECK_FALSE(NeedsRun(sweep, point));
    sweep.points[1].error = "it fell over";
    CHECK_FALSE(NeedsRun(sweep, sweep.points[1]));
    CHECK_FALSE(IsComplete(sweep));
    sweep.mode = SweepMode::kSimulate;
    sweep.points[2].predicted = replay::Rate{1, 1, 1};
    CHECK(IsComplete(sweep));
  }

  TEST_CASE("the base is its own configuration unless a point equals it") {
    replay::Sweep sweep = test::PlannedGrid(SweepMode::kBoth);
    sweep.base_point.reset();
    CHECK(Configurations(sweep) == 4);
    sweep.base.name = "base";
    CHECK(ConfigurationAt(sweep, 3).name == "base");
    CHECK(BaseOf(sweep).name == "base");
  }

  TEST_CASE("a point's name lists its changes") {
    Point point;
    CHECK(NameOf(point) == "as recorded");
    point.set = {{"a.b", "1"}, {"c.d", "true"}};
    point.cores = 2;
    CHECK(NameOf(point) == "a.b=1 c.d=true on 2 cores");
    Point patched;
    patched.patch =
        Patch{{SetTo("a.b", 4), RemoveChange{"cache"}, MoveChange{"shuffle", Place::After("read")},
               InsertChange{{"p", PrefetchSpec{}}, Place::Start()}}};
    CHECK(NameOf(patched) == "a.b=4 -cache shuffle after read +p");
  }
}
