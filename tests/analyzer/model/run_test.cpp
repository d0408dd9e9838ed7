#include "analyzer/model/run.h"

#include <doctest/doctest.h>

#include "tests/support/loaded_run.h"

using namespace stallscope;
using stallscope::test::TraceBuilder;

TEST_SUITE("fast") {
  TEST_CASE("a step lasts to the next request, the last one until its device is done") {
    TraceBuilder trace;
    trace.Step(2, 300, 390);
    trace.EndChunk();
    trace.Step(0, 100, 250);
    trace.Step(1, 200, 310);
    const model::Run run = LoadedRun(trace);
    const auto steps = model::StepIntervals(run);
    REQUIRE(steps.size() == 3);
    for (uint64_t i = 0; i < 3; ++i) {
      CHECK(steps[i].index == i);
      CHECK(steps[i].start_ns == static_cast<int64_t>(100 + 100 * i));
    }
    CHECK(steps[0].end_ns == 200);
    CHECK(steps[1].end_ns == 300);
    CHECK(steps[2].end_ns == 390);
  }

  TEST_CASE("a killed run lasts until its last event") {
    TraceBuilder trace;
    const StageId stage = trace.Stage("s");
    trace.Work(trace.Thread("t"), stage, 2000, 7000);
    const model::TimeRange killed = model::WindowOf(LoadedRun(trace));
    CHECK(killed.start_ns == 1000);
    CHECK(killed.end_ns == 7000);
    trace.Seal(9000);
    CHECK(model::WindowOf(LoadedRun(trace)).end_ns == 9000);
  }

  TEST_CASE("a limit is recognized by its figure, not by its words") {
    model::Run run;
    run.info.limits = {"steps: each fetch begins one", "memory.peak_rss_bytes: not recorded"};
    CHECK(model::IsLimited(run, "steps"));
    CHECK(model::IsLimited(run, "memory.peak_rss_bytes"));
    CHECK_FALSE(model::IsLimited(run, "step"));
    CHECK_FALSE(model::IsLimited(run, "memory"));
  }

  TEST_CASE("unknown ids have empty names") {
    const model::Run run;
    CHECK(run.NameOf(StageId::None()).empty());
    CHECK(run.NameOf(QueueId::None()).empty());
    CHECK(run.NameOf(TrackId::None()).empty());
    CHECK(run.NameOf(CounterId::None()).empty());
    CHECK(run.Text(trace::StringId::None()).empty());
    CHECK(run.GapsOf(TrackId{0}).empty());
    CHECK(model::StepIntervals(run).empty());
  }
}
