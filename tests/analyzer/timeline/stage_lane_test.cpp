#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/timeline/timeline.h"
#include "tests/support/loaded_run.h"
#include "tests/support/random.h"

using namespace stallscope;
using test::TraceBuilder;
using timeline::Lane;
using timeline::StageLanes;
using trace::WaitCause;

namespace {

using Values = std::vector<float>;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a stage's time is work, waits for input and room, and other waits") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode", "map", 2);
    const QueueId in = trace.Queue("in", 4);
    const QueueId out = trace.Queue("out", 4, decode);
    const TrackId one = trace.Thread("decode 0", decode);
    const TrackId two = trace.Thread("decode 1", decode);
    trace.Work(one, decode, 1000, 1050);
    trace.Wait(one, WaitCause::kEmpty, in, 1050, 1100);
    trace.Wait(two, WaitCause::kFull, out, 1000, 1020);
    trace.Wait(two, WaitCause::kLock, in, 1020, 1040);
    trace.Work(two, decode, 1040, 1100);
    const Lane lane = StageLanes(LoadedRun(trace), {1000, 1100}, 2)[decode.value];
    CHECK(lane.name == "decode");
    CHECK(lane.layers == std::vector<std::string>{"work", "empty", "full", "wait"});
    CHECK(lane.busy == std::vector<Values>{{0.6F, 0.5F}, {0, 0.5F}, {0.2F, 0}, {0.2F, 0}});
  }

  TEST_CASE("a wait inside work is a wait, not both") {
    TraceBuilder trace;
    const StageId read = trace.Stage("read", "source");
    const TrackId track = trace.Thread("read 0", read);
    trace.Wait(track, WaitCause::kIo, {}, 1020, 1050);
    trace.Wait(track, WaitCause::kIo, {}, 1060, 1070);
    trace.Work(track, read, 1000, 1100);
    const Lane lane = StageLanes(LoadedRun(trace), {1000, 1100}, 1)[read.value];
    CHECK(lane.busy == std::vector<Values>{{0.6F}, {0}, {0}, {0.4F}});
  }

  TEST_CASE("a stage that runs in another's threads is a part of their time") {
    TraceBuilder trace;
    const StageId read = trace.Stage("read", "source");
    const StageId shuffle = trace.Stage("shuffle", "shuffle");
    const StageId idle = trace.Stage("idle", "map");
    const TrackId track = trace.Thread("shuffle 0", shuffle);
    trace.Work(track, read, 1000, 1030);
    trace.Work(track, shuffle, 1000, 1100);
    const model::Run run = LoadedRun(trace);
    const auto lanes = StageLanes(run, {1000, 1100}, 1);
    CHECK(lanes[read.value].busy[0] == Values{0.3F});
    CHECK(lanes[shuffle.value].busy[0] == Values{0.7F});
    CHECK(lanes[idle.value].busy[0] == Values{0});
  }

  TEST_CASE("layers never add up to more than 1, and are as counted by hand") {
    test::Random random(11);
    for (int round = 0; round < 60; ++round) {
      TraceBuilder trace;
      const StageId stage = trace.Stage("stage");
      const TrackId track = trace.Thread("thread", stage);
      struct Span {
        int64_t start, end;
        size_t layer;
      };
      std::vector<Span> spans;
      // Spans in the order of their ends, some inside others, some that only overlap.
      int64_t end = 1000;
      for (int i = 0; i < 15; ++i) {
        end += static_cast<int64_t>(random.Below(12));
        spans.push_back({end - static_cast<int64_t>(random.Below(40)), end, random.Below(4)});
      }
      // What comes first in the file is inside: it keeps its nanoseconds.
      std::vector<int> owner(300, -1);
      for (const Span& span : spans) {
        for (int64_t t = std::max<int64_t>(span.start, 950); t < span.end; ++t) {
          int& of = owner[static_cast<size_t>(t - 950)];
          if (of < 0) of = static_cast<int>(span.layer);
        }
        constexpr WaitCause kCauses[] = {WaitCause::kUnknown, WaitCause::kEmpty, WaitCause::kFull,
                                         WaitCause::kLock};
        if (span.layer == 0) {
          trace.Work(track, stage, span.start, span.end);
        } else {
          trace.Wait(track, kCauses[span.layer], {}, span.start, span.end);
        }
      }
      const Lane lane = StageLanes(LoadedRun(trace), {950, 1250}, 30)[stage.value];
      for (size_t column = 0; column < 30; ++column) {
        float sum = 0;
        for (size_t layer = 0; layer < 4; ++layer) {
          const auto from = owner.begin() + static_cast<std::ptrdiff_t>(column * 10);
          const auto count = std::count(from, from + 10, static_cast<int>(layer));
          CHECK(double{lane.busy[layer][column]} == doctest::Approx(double(count) / 10));
          sum += lane.busy[layer][column];
        }
        CHECK(sum <= 1.0001F);
      }
    }
  }
}
