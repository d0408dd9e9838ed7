#include "analyzer/timeline/run_index.h"

#include <doctest/doctest.h>

#include <memory>
#include <string_view>

#include "analyzer/model/ranks.h"
#include "analyzer/timeline/counter_kind.h"
#include "collectors/system/counters.h"
#include "tests/support/loaded_run.h"
#include "tests/support/memory_file.h"

using namespace stallscope;
using timeline::RunIndex;

namespace {

bool Reduces(std::string_view name) { return name == "all_reduce"; }

RunIndex IndexOf(test::TraceBuilder& trace) {
  return timeline::MakeRunIndex(std::make_shared<model::Run>(LoadedRun(trace)), &Reduces);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("tracks, steps, queues and counters of a run have their lanes") {
    test::TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    const QueueId queue = trace.Queue("decoded", 8, decode);
    const TrackId worker = trace.Thread("decode worker 0", decode);
    const CounterId memory = trace.Counter("rss", "bytes");
    trace.Work(worker, decode, 1'000, 2'000, ItemId{1});
    trace.Wait(worker, trace::WaitCause::kFull, queue, 2'000, 2'500);
    trace.rows().Add(trace::QueueEvent{2'500, ItemId{1}, queue, worker, 3, trace::QueueOp::kPush});
    trace.rows().Add(trace::Sample{1'500, 42, memory});
    trace.Step(0, 1'000, 2'000);
    trace.Step(1, 2'000, 3'000);
    trace.Seal(3'000);
    const RunIndex index = IndexOf(trace);
    REQUIRE(index.tracks.size() == 1);
    CHECK(index.tracks[0].size() == 2);
    CHECK(index.queues[0].ValueAt(2'600) == 3.F);
    CHECK(index.counters[0].ValueAt(1'600) == 42.F);
    REQUIRE(index.steps.size() == 2);
    CHECK(index.steps.At(1).index == 1);
    CHECK(index.steps.At(0).kind != index.steps.At(1).kind);
  }

  TEST_CASE("kernels and copies are told apart, and come before the spans of their track") {
    test::TraceBuilder trace;
    const StageId stage = trace.Stage("trainer");
    const TrackId stream = trace.Stream("stream 0");
    const auto kernel = [&](int64_t start, int64_t end, const char* name) {
      trace.rows().Add(trace::Kernel{start, start, end, {}, 0, 0, stream, trace.Text(name)});
    };
    kernel(100, 200, "matmul");
    kernel(150, 300, "all_reduce");
    trace.rows().Add(
        trace::Copy{400, 400, 450, {}, 64, 0, stream, trace::CopyDirection::kDeviceToHost, {}});
    trace.Work(stream, stage, 50, 500);
    const RunIndex index = IndexOf(trace);
    std::vector<std::pair<int64_t, uint16_t>> parts;
    for (size_t i = 0; i < index.tracks[0].size(); ++i) {
      const timeline::Segment segment = index.tracks[0].At(i);
      parts.emplace_back(segment.start_ns, segment.kind);
    }
    CHECK(parts == std::vector<std::pair<int64_t, uint16_t>>{{50, 0},
                                                             {100, timeline::kComputeKind},
                                                             {200, timeline::kCommunicationKind},
                                                             {300, 0},
                                                             {400, timeline::kCopyKind + 1},
                                                             {450, 0}});
  }

  TEST_CASE("a cumulative counter is a rate, a level is itself") {
    test::TraceBuilder trace;
    const CounterId io = trace.Counter("io.requested", "bytes");
    const CounterId busy = trace.Counter("cpu.busy", "ns");
    const CounterId rss = trace.Counter("memory.rss", "bytes");
    const CounterId foreign = trace.Counter("requests", "count");
    for (const int64_t second : {1, 2, 4}) {
      const int64_t at = second * 1'000'000'000;
      const auto value = static_cast<double>(second);
      trace.rows().Add(trace::Sample{at, 1e12 + value * 500, io});
      trace.rows().Add(trace::Sample{at, value * 1.5e9, busy});
      trace.rows().Add(trace::Sample{at, value * 100, rss});
      trace.rows().Add(trace::Sample{at, value * 7, foreign});
    }
    const RunIndex index = IndexOf(trace);
    CHECK(index.counters[io.value].ValueAt(1'500'000'000) == 500.F);
    CHECK(index.counters[io.value].ValueAt(9'000'000'000) == 500.F);
    CHECK(index.counters[busy.value].ValueAt(3'000'000'000) == 1.5F);
    CHECK(index.counters[rss.value].ValueAt(2'500'000'000) == 200.F);
    CHECK(index.counters[foreign.value].ValueAt(4'000'000'000) == 28.F);
  }

  TEST_CASE("every counter that is sampled is known to be a rate or a level") {
    for (const system::CounterRow& row : system::kCounterTable) {
      CAPTURE(row.name);
      const bool cumulative = row.kind == system::CounterKind::kCumulative;
      CHECK(timeline::IsCumulative({{}, row.name, row.unit}) == cumulative);
      CHECK(timeline::IsCumulative({{}, model::NameOnRank(1, row.name), row.unit}) == cumulative);
    }
  }

  TEST_CASE("a run with nothing in it has an index all the same") {
    test::TraceBuilder trace;
    const RunIndex index = IndexOf(trace);
    CHECK(index.tracks.empty());
    CHECK(index.steps.empty());
  }
}
