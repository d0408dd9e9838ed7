#include "analyzer/model/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;
using stallscope::test::ScratchDir;
using stallscope::test::TraceBuilder;

namespace {

model::Run Load(const std::string& path) {
  auto run = model::LoadTrace(path);
  if (!run.ok()) FAIL(run.error().Line());
  return std::move(run).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("round trip: spans with names, costs and wakers") {
    ScratchDir dir;
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode", "map", 2);
    const StageId batch = trace.Stage("batch", "batch", 1, {decode});
    const QueueId queue = trace.Queue("decode-batch", 8, decode);
    const TrackId worker = trace.Thread("decode 0", decode);
    const TrackId other = trace.Thread("batch 0", batch);
    trace.Work(worker, decode, 1000, 2500, ItemId{7});
    trace.rows().AddCost(4096, 1400);
    trace.Work(worker, decode, 2500, 9'000'000'000, ItemId{8});
    trace.EndChunk();
    trace.Wait(other, trace::WaitCause::kEmpty, queue, 900, 2600);
    trace.rows().AddWaker(worker);
    trace.Work(worker, decode, 9'000'000'000, 9'000'000'001);
    trace.Seal(10'000'000'000, {{worker, 5, 3, 2}, {other, 1, 1, 0}});
    trace.Write(dir / "run.sst");

    const model::Run run = Load(dir / "run.sst");
    REQUIRE(run.tracks.size() == 2);
    const model::Track& track = run.tracks[worker.value];
    CHECK(track.info.name == "decode 0");
    CHECK(track.info.stage == decode);
    CHECK(track.info.thread == 1000);
    REQUIRE(track.spans.size() == 3);
    CHECK(track.spans.start_ns[1] == 2500);
    CHECK(track.spans.EndNs(1) == 9'000'000'000);
    CHECK(track.spans.item[0] == 7);
    CHECK(track.spans.item[2] == ItemId::None().value);
    CHECK(track.spans.bytes == std::vector<uint64_t>{4096, 0, 0});
    CHECK(track.spans.cpu_ns == std::vector<uint64_t>{1400, 0, 0});
    CHECK(track.spans.waker.empty());
    CHECK(run.ClassOf(track, 0).kind == trace::SpanKind::kWork);
    CHECK(run.NameOf(run.ClassOf(track, 0).stage) == "decode");
    CHECK(track.spans.span_class[0] == track.spans.span_class[2]);
    REQUIRE(track.tally);
    CHECK(track.tally->dropped == 2);

    const model::Track& waiting = run.tracks[other.value];
    CHECK(run.ClassOf(waiting, 0).kind == trace::SpanKind::kWait);
    CHECK(run.ClassOf(waiting, 0).cause == trace::WaitCause::kEmpty);
    CHECK(run.NameOf(run.ClassOf(waiting, 0).queue) == "decode-batch");
    CHECK(waiting.spans.waker == std::vector<uint32_t>{worker.value + 1});

    CHECK(run.stages[batch.value].inputs == std::vector<StageId>{decode});
    CHECK(run.stages[decode.value].workers == 2);
    CHECK(run.queues[queue.value].producer == decode);
    CHECK(run.queues[queue.value].info.capacity == 8);
    CHECK(run.format == "sst");
    CHECK(run.format_version == "1.0");
    CHECK(run.info.name == "test");
    CHECK(run.info.end_ns == 10'000'000'000);
    CHECK(model::CountSpans(run) == 4);
    CHECK(run.quality.sealed);
    CHECK(run.quality.emitted == 6);
    CHECK(run.quality.stored == 4);
    CHECK(run.quality.dropped == 2);
    CHECK(run.quality.frames == 4);
    CHECK(run.quality.damaged_bytes == 0);
    CHECK_FALSE(run.quality.Complete());
  }

  TEST_CASE("round trip: every other table, field by field") {
    ScratchDir dir;
    TraceBuilder trace;
    const StageId stage = trace.Stage("read");
    const QueueId queue = trace.Queue("read-batch", 4, stage);
    const TrackId track = trace.Thread("reader", stage);
    const CounterId counter = trace.Counter("rss", "bytes");
    const trace::StringId file = trace.Text("a.tfrecord");
    const trace::StringId kernel = trace.Text("sgemm");
    auto& rows = trace.rows();
    rows.Add(trace::QueueEvent{10, ItemId{1}, queue, track, 3, trace::QueueOp::kPop});
    rows.Add(trace::Release{11, 12, ItemId{2}, stage});
    rows.Add(trace::Lineage{ItemId{3}, ItemId{4}, stage});
    rows.Add(trace::Batch{13, ItemId{5}, ItemId{6}, stage, 32, file});
    rows.Add(trace::Element{ItemId{7}, 8, 9, 10, file, 1});
    rows.Add(trace::CacheEvent{14, ItemId{8}, 99, stage, 2, trace::CacheOp::kFill});
    rows.Add(trace::Copy{15, 16, 17, ItemId{9}, 1000, 77, track,
                         trace::CopyDirection::kDeviceToHost, trace::CopyMemory::kPageable});
    rows.Add(trace::Kernel{18, 19, 20, ItemId{10}, 78, 1, track, kernel});
    rows.Add(trace::Step{1, 30, 31, 32, 33, ItemId{11}, track, 32, 1});
    rows.Add(trace::Sample{40, 1.25, counter});
    rows.Add(trace::KnobChange{41, file, kernel, file});
    rows.Add(trace::Gap{42, 43, 5, track});
    trace.Write(dir / "run.sst");

    const model::Run run = Load(dir / "run.sst");
    const trace::EventRows& r = run.rows;
    REQUIRE(r.queue_events.size() == 1);
    CHECK(r.queue_events[0].depth == 3);
    CHECK(r.queue_events[0].op == trace::QueueOp::kPop);
    CHECK(run.NameOf(r.queue_events[0].queue) == "read-batch");
    REQUIRE(r.releases.size() == 1);
    CHECK(r.releases[0].released_ns == 12);
    REQUIRE(r.lineage.size() == 1);
    CHECK(r.lineage[0].out == ItemId{4});
    REQUIRE(r.batches.size() == 1);
    CHECK(r.batches[0].last_arrival == ItemId{6});
    CHECK(run.Text(r.batches[0].shape) == "a.tfrecord");
    REQUIRE(r.elements.size() == 1);
    CHECK(run.Text(r.elements[0].file) == "a.tfrecord");
    CHECK(r.elements[0].bytes == 10);
    REQUIRE(r.cache_events.size() == 1);
    CHECK(r.cache_events[0].op == trace::CacheOp::kFill);
    REQUIRE(r.copies.size() == 1);
    CHECK(r.copies[0].memory == trace::CopyMemory::kPageable);
    REQUIRE(r.kernels.size() == 1);
    CHECK(run.Text(r.kernels[0].name) == "sgemm");
    CHECK(r.kernels[0].graph == 1);
    REQUIRE(r.steps.size() == 1);
    CHECK(r.steps[0].loss_scale_skipped == 1);
    REQUIRE(r.samples.size() == 1);
    CHECK(r.samples[0].value == 1.25);
    CHECK(run.counters[0].unit == "bytes");
    REQUIRE(r.knobs.size() == 1);
    CHECK(run.Text(r.knobs[0].old_value) == "sgemm");
    REQUIRE(run.GapsOf(track).size() == 1);
    CHECK(run.GapsOf(track)[0].dropped == 5);
    CHECK(run.quality.dropped == 5);
    CHECK_FALSE(run.quality.emitted);
  }

  TEST_CASE("columns are reserved for exactly what the file contains") {
    ScratchDir dir;
    TraceBuilder trace;
    const StageId stage = trace.Stage("s");
    const TrackId track = trace.Thread("t", stage);
    for (int chunk = 0; chunk < 7; ++chunk) {
      for (int i = 0; i < 1000; ++i) {
        trace.Work(track, stage, chunk * 100'000 + i * 100, chunk * 100'000 + i * 100 + 60);
        // Costs begin late: the columns before are filled up, and still fit exactly.
        if (chunk > 3) trace.rows().AddCost(10, 20);
      }
      trace.EndChunk();
    }
    trace.Write(dir / "run.sst");
    const model::Run run = Load(dir / "run.sst");
    const trace::SpanColumns& spans = run.tracks[0].spans;
    CHECK(spans.size() == 7000);
    CHECK(spans.start_ns.capacity() == 7000);
    CHECK(spans.duration.capacity() == 7000);
    CHECK(spans.span_class.capacity() == 7000);
    CHECK(spans.item.capacity() == 7000);
    CHECK(spans.bytes.capacity() == 7000);
    CHECK(spans.bytes[3999] == 0);
    CHECK(spans.bytes[4000] == 10);
  }

  TEST_CASE("run info: the later non-empty value wins") {
    ScratchDir dir;
    TraceBuilder trace;
    trace.run.seed = 7;
    auto payloads = trace.Payloads();
    TraceBuilder end;
    end.run = {};
    end.run.digest = "abc";
    end.run.end_ns = 99'000;
    auto writer = trace::TraceWriter::Create(dir / "run.sst");
    REQUIRE(writer.ok());
    REQUIRE(writer.value().Append(trace::FrameType::kChunk, payloads[0].second).ok());
    REQUIRE(writer.value().Append(trace::FrameType::kChunk, end.Payloads()[0].second).ok());
    const model::Run run = Load(dir / "run.sst");
    CHECK(run.info.name == "test");
    CHECK(run.info.seed == 7);
    CHECK(run.info.digest == "abc");
    CHECK(run.info.end_ns == 99'000);
  }

  TEST_CASE("empty trace: empty run") {
    ScratchDir dir;
    REQUIRE(trace::TraceWriter::Create(dir / "run.sst").ok());
    const model::Run run = Load(dir / "run.sst");
    CHECK(model::CountSpans(run) == 0);
    CHECK_FALSE(run.quality.sealed);
    CHECK(run.quality.damaged_bytes == 0);
  }

  TEST_CASE("progress goes from 0 to 1, and false ends the reading") {
    ScratchDir dir;
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    const TrackId worker = trace.Thread("decode 0", decode);
    // Items far apart take many bytes: some MiB in all.
    for (uint64_t i = 0; i < 300'000; ++i) {
      const auto at = static_cast<int64_t>(i) * 3'000'000'000;
      trace.Work(worker, decode, at, at + 2'000'000'000, ItemId{(i % 2) << 60});
      if (i % 10'000 == 9'999) trace.EndChunk();
    }
    trace.Seal(int64_t{300'000} * 3'000'000'000);
    trace.Write(dir / "run.sst");
    std::vector<double> told;
    const auto run = model::LoadTrace(dir / "run.sst", [&](std::optional<double> part) {
      told.push_back(part.value_or(-1));
      return true;
    });
    REQUIRE(run.ok());
    REQUIRE(told.size() >= 4);
    CHECK(std::is_sorted(told.begin(), told.end()));
    CHECK(told.front() >= 0);
    CHECK(told.back() <= 1);
    int calls = 0;
    const auto ended =
        model::LoadTrace(dir / "run.sst", [&](std::optional<double>) { return ++calls < 2; });
    CHECK_FALSE(ended.ok());
    CHECK(calls == 2);
  }
}
