#include "analyzer/importers/foreign/steps.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

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

TrackId Stream(RunBuilder& builder) { return builder.StreamTrack("", 0); }

// In round r the kernels of the names that come more than r times, a microsecond each.
model::Run RunOf(const std::vector<size_t>& counts) {
  model::Run run;
  trace::TrackInfo& info = run.tracks.emplace_back().info;
  info.id = TrackId{0};
  info.kind = trace::TrackKind::kStream;
  int64_t at = 0;
  bool more = true;
  for (size_t round = 0; more; ++round) {
    more = false;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] <= round) continue;
      more = true;
      trace::Kernel& kernel = run.rows.kernels.emplace_back();
      kernel.track = TrackId{0};
      kernel.name = trace::StringId{static_cast<uint32_t>(i)};
      kernel.start_ns = at;
      kernel.end_ns = at += 1'000;
    }
  }
  return run;
}

size_t RoundsOf(const std::vector<size_t>& counts) {
  const auto rhythm = importers::FindRhythm(RunOf(counts));
  return rhythm.has_value() ? rhythm->starts_ns.size() : 0;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a step's times are its mark's, its device's, and its first fetch's") {
    RunBuilder builder("a", "test");
    const TrackId trainer = builder.ThreadTrack("", 0);
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

  TEST_CASE("a duplicate mark counts once, and steps are numbered upwards") {
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

  TEST_CASE("without marks, fetches begin the steps, except the one that finds the end") {
    RunBuilder builder("a", "test");
    const TrackId trainer = builder.ThreadTrack("", 0);
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

  TEST_CASE("kernels have a rhythm only if the same ones recur") {
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

  TEST_CASE("a recording cut out of a run has the rounds that nearly all names agree on") {
    CHECK(RoundsOf({9, 9, 8, 10, 10, 8, 9}) == 9);
    // Two of seven that are off by more are too many.
    CHECK(RoundsOf({9, 9, 8, 12, 12, 10, 10}) == 0);
  }

  TEST_CASE("120,000 names are compared by their counts, not pairwise") {
    std::vector<size_t> counts;
    for (size_t i = 0; i < 120'000; ++i) counts.push_back(8 + i % 3);
    CHECK(RoundsOf(counts) == 9);
  }
}
