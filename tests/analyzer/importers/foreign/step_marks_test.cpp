#include "analyzer/importers/foreign/step_marks.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/importers/foreign/run_builder.h"

using namespace stallscope;
using importers::RunBuilder;
using importers::StepMark;

namespace {

trace::Kernel KernelAt(TrackId track, int64_t enqueued, int64_t start, int64_t end,
                       trace::StringId name = {}) {
  trace::Kernel kernel;
  kernel.track = track;
  kernel.enqueued_ns = enqueued;
  kernel.start_ns = start;
  kernel.end_ns = end;
  kernel.name = name;
  return kernel;
}

TrackId Stream(RunBuilder& builder) {
  trace::TrackInfo info;
  info.kind = trace::TrackKind::kStream;
  return builder.Track(info);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a mark's times are its own, its device's, and its first fetch's") {
    RunBuilder builder("a", "test");
    const TrackId trainer = builder.Track({});
    const TrackId stream = Stream(builder);
    builder.AddBatchWait(trainer, builder.Stage("loader", "dataloader"), 12, 20, true);
    builder.AddBatchWait(trainer, builder.Stage("loader", "dataloader"), 40, 45, true);
    builder.Add(KernelAt(stream, 30, 35, 130));
    builder.Add(KernelAt(stream, 50, 130, 140));
    builder.Add(KernelAt(stream, 150, 160, 170));
    const model::Run run = builder.Finish({{4, 10, 90, trainer, 0}, {5, 100, 200, trainer, 8}});
    REQUIRE(run.rows.steps.size() == 2);
    const trace::Step& first = run.rows.steps[0];
    CHECK(first.index == 4);
    CHECK(first.requested_ns == 10);
    CHECK(first.received_ns == 20);
    CHECK(first.issued_ns == 50);
    CHECK(first.device_done_ns == 140);
    const trace::Step& second = run.rows.steps[1];
    CHECK(second.received_ns == 100);
    CHECK(second.samples == 8);
    // The last one lasts to its mark's end.
    CHECK(second.device_done_ns == 200);
  }

  TEST_CASE("a mark that is there twice counts once, and steps are numbered upwards") {
    RunBuilder builder("a", "test");
    const model::Run run = builder.Finish({{7, 0, 100, {}, 0},
                                           {7, 1, 99, {}, 0},   // the same on another thread
                                           {9, 10, 30, {}, 0},  // nested
                                           {3, 101, 200, {}, 0},
                                           {5, 200, 300, {}, 0}});
    REQUIRE(run.rows.steps.size() == 3);
    CHECK(run.rows.steps[0].index == 0);
    CHECK(run.rows.steps[1].requested_ns == 101);
    CHECK(run.rows.steps[2].index == 2);
  }

  TEST_CASE("without marks the fetches begin the steps, but not the one that finds the end") {
    RunBuilder builder("a", "test");
    const TrackId trainer = builder.Track({});
    const StageId loader = builder.Stage("loader", "dataloader");
    const TrackId stream = Stream(builder);
    for (int64_t at : {0, 100, 200}) builder.AddBatchWait(trainer, loader, at, at + 10, false);
    builder.Add(KernelAt(stream, 20, 30, 40));
    builder.Add(KernelAt(stream, 120, 130, 140));
    const model::Run run = builder.Finish({});
    REQUIRE(run.rows.steps.size() == 2);
    CHECK(run.rows.steps[1].requested_ns == 100);
    CHECK(run.rows.steps[1].device_done_ns == 140);
    REQUIRE(run.info.limits.size() == 1);
    CHECK(run.info.limits[0].starts_with("steps: "));
  }

  TEST_CASE("kernels have a rhythm where the same ones come round, and else not") {
    for (const bool even : {true, false}) {
      RunBuilder builder("a", "test");
      const TrackId stream = Stream(builder);
      int64_t at = 0;
      for (int round = 0; round < 6; ++round) {
        for (int i = 0; i < 4 + (even ? 0 : round * round); ++i) {
          const auto name = builder.Intern(i == 0 ? "begin" : i == 1 ? "gemm" : "other");
          builder.Add(KernelAt(stream, at, at + 5, at + 9, name));
          at += 10;
        }
      }
      const model::Run run = builder.Finish({});
      CHECK(run.rows.steps.size() == (even ? 6 : 0));
    }
  }
}
