#include <doctest/doctest.h>

#include "analyzer/base/file.h"
#include "analyzer/trace/limits.h"
#include "tests/support/loaded_run.h"

using namespace stallscope;
using stallscope::test::ScratchDir;

namespace {

// Knows every number, so that chunks can speak of things that nobody defined.
class AnyName : public trace::NameSource {
 public:
  std::string StageName(StageId) const override { return ""; }
  std::string QueueName(QueueId) const override { return ""; }
  std::string TrackName(TrackId) const override { return ""; }
  std::string CounterName(CounterId) const override { return ""; }
  std::string String(trace::StringId) const override { return ""; }
};

model::Run LoadChunk(trace::ChunkBuilder& chunk) {
  ScratchDir dir;
  auto writer = trace::TraceWriter::Create(dir / "run.sst");
  REQUIRE(writer.ok());
  REQUIRE(writer.value().Append(trace::FrameType::kChunk, chunk.Finish({})).ok());
  auto run = model::LoadTrace(dir / "run.sst");
  REQUIRE(run.ok());
  return std::move(run).value();
}

bool Warned(const model::Run& run, const std::string& text) {
  for (const std::string& warning : run.quality.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

template <class IdType, class Table>
void CheckId(IdType id, const Table& table) {
  if (id.known()) REQUIRE(id.value < table.size());
}

void CheckIds(const model::Run& run) {
  for (const trace::SpanClass& c : run.span_classes) {
    CheckId(c.stage, run.stages);
    CheckId(c.queue, run.queues);
  }
  for (const model::Track& track : run.tracks) {
    CheckId(track.info.stage, run.stages);
    for (uint16_t number : track.spans.span_class) REQUIRE(number < run.span_classes.size());
    for (uint32_t waker : track.spans.waker) REQUIRE(waker <= run.tracks.size());
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    CheckId(kernel.track, run.tracks);
    CheckId(kernel.name, run.strings);
  }
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    CheckId(event.queue, run.queues);
    CheckId(event.track, run.tracks);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("ids past the limits are dropped with one warning per kind") {
    const AnyName names;
    trace::ChunkBuilder chunk(names);
    const TrackId track{0};
    chunk.AddSpan(track, {trace::SpanKind::kWork, StageId{trace::kMaxStages}, {}, {}}, 1, 2, {});
    chunk.AddSpan(track, {trace::SpanKind::kWork, StageId{9}, {}, {}}, 2, 3, {});
    chunk.AddSpan(TrackId{trace::kMaxTracks}, {trace::SpanKind::kWork, StageId{9}, {}, {}}, 1, 2,
                  {});
    chunk.Add(trace::Gap{1, 2, 3, TrackId{trace::kMaxTracks + 1}});
    chunk.Add(trace::Sample{1, 2, CounterId{trace::kMaxCounters}});
    chunk.Add(trace::QueueEvent{1, {}, QueueId{trace::kMaxQueues}, track, 0, {}});
    const model::Run run = LoadChunk(chunk);
    CHECK(run.stages.size() == 10);
    CHECK(run.stages[9].name == "stage 9");
    CHECK(run.tracks.size() == 1);
    CHECK(run.tracks[0].spans.size() == 2);
    CHECK_FALSE(run.ClassOf(run.tracks[0], 0).stage.known());
    CHECK(run.counters.empty());
    CHECK_FALSE(run.rows.samples[0].counter.known());
    CHECK_FALSE(run.rows.queue_events[0].queue.known());
    CHECK(run.quality.left_out >= 5);
    CHECK(Warned(run, "more than 4,096 stages: what is past them was left out, in 2 places"));
    CHECK(Warned(run, "more than 65,536 tracks"));
    CHECK(Warned(run, "more than 16,384 counters"));
    CHECK(Warned(run, "more than 8,191 queues"));
    CHECK_FALSE(run.quality.Complete());
  }

  TEST_CASE("waker past the limits is none, unnamed waker becomes known") {
    const AnyName names;
    trace::ChunkBuilder chunk(names);
    chunk.AddSpan(TrackId{1}, {trace::SpanKind::kWait, {}, trace::WaitCause::kLock, {}}, 5, 6, {});
    chunk.AddWaker(TrackId{trace::kMaxTracks + 5});
    chunk.AddSpan(TrackId{1}, {trace::SpanKind::kWait, {}, trace::WaitCause::kLock, {}}, 7, 8, {});
    chunk.AddWaker(TrackId{6});
    const model::Run run = LoadChunk(chunk);
    CHECK(run.tracks.size() == 7);
    CHECK(run.tracks[1].spans.waker == std::vector<uint32_t>{0, 7});
  }

  TEST_CASE("any corrupted payload byte: every id stays within its table") {
    ScratchDir dir;
    test::TraceBuilder trace;
    const StageId stage = trace.Stage("s");
    const QueueId queue = trace.Queue("q", 1, stage);
    const TrackId track = trace.Thread("t", stage);
    trace.Work(track, stage, 1, 2, ItemId{3});
    trace.Wait(track, trace::WaitCause::kFull, queue, 2, 3);
    trace.rows().AddWaker(track);
    trace.Work(trace.Thread("u"), stage, 1, 2);
    trace.rows().Add(trace::Kernel{1, 2, 3, {}, 0, 0, track, trace.Text("k")});
    trace.rows().Add(trace::QueueEvent{1, {}, queue, track, 0, trace::QueueOp::kPush});
    trace.with_definitions = false;
    const std::string payload = trace.Payloads()[0].second;
    int partly_read = 0;
    for (size_t i = 0; i < payload.size(); ++i) {
      for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
        std::string changed = payload;
        changed[i] = byte;
        auto writer = trace::TraceWriter::Create(dir / "run.sst");
        REQUIRE(writer.ok());
        REQUIRE(writer.value().Append(trace::FrameType::kChunk, changed).ok());
        const auto run = model::LoadTrace(dir / "run.sst");
        if (!run.ok()) continue;
        CheckIds(run.value());
        if (run.value().quality.damaged_bytes != 0) ++partly_read;
      }
    }
    // Spans that do not fit their count cost their own block only.
    CHECK(partly_read > 0);
  }

  TEST_CASE("repeated strings are stored once") {
    test::TraceBuilder trace;
    const trace::StringId name = trace.Text("sgemm");
    const TrackId stream = trace.Stream("stream 7");
    for (int i = 0; i < 5; ++i) {
      trace.rows().Add(trace::Kernel{1, 2, 3, {}, 0, 0, stream, name});
      trace.EndChunk();
    }
    const model::Run run = test::LoadedRun(trace);
    CHECK(run.strings == std::vector<std::string>{"sgemm"});
    CHECK(run.rows.kernels.size() == 5);
  }

  TEST_CASE("overlong names are cut") {
    test::TraceBuilder trace;
    trace.Stage(std::string(5000, 'n'));
    const model::Run run = test::LoadedRun(trace);
    CHECK(run.stages[0].name.size() == trace::kMaxNameBytes);
  }
}
