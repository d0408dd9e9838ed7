#include <doctest/doctest.h>

#include "analyzer/base/file.h"
#include "analyzer/model/loader.h"
#include "analyzer/trace/limits.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

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

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("ids past the limits are left out with one warning a kind") {
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
    CHECK(Warned(run, "more than 16,384 queues"));
    CHECK_FALSE(run.quality.Complete());
  }

  TEST_CASE("what cannot be is made harmless") {
    const AnyName names;
    trace::ChunkBuilder chunk(names);
    chunk.Add(trace::QueueEvent{
        std::numeric_limits<int64_t>::max(), {}, {}, {}, 0, static_cast<trace::QueueOp>(200)});
    chunk.Add(trace::Gap{std::numeric_limits<int64_t>::min(), 0, 0, {}});
    chunk.AddSpan(TrackId{1}, {trace::SpanKind::kWait, {}, trace::WaitCause::kLock, {}}, 5, 6, {});
    chunk.AddWaker(TrackId{trace::kMaxTracks + 5});
    chunk.AddSpan(TrackId{1}, {trace::SpanKind::kWait, {}, trace::WaitCause::kLock, {}}, 7, 8, {});
    chunk.AddWaker(TrackId{6});
    const model::Run run = LoadChunk(chunk);
    CHECK(run.rows.queue_events[0].op == trace::QueueOp::kPush);
    CHECK(run.rows.queue_events[0].time_ns == model::kMaxTime);
    CHECK(run.rows.gaps[0].from_ns == -model::kMaxTime);
    CHECK(run.tracks.size() == 7);
    CHECK(run.tracks[1].spans.waker == std::vector<uint32_t>{0, 7});
  }

  TEST_CASE("spans past the range of times are damage, and the rest of their chunk is kept") {
    const AnyName names;
    for (const int64_t start : {std::numeric_limits<int64_t>::max() - 10,
                                std::numeric_limits<int64_t>::min(), int64_t{1} << 62}) {
      trace::ChunkBuilder chunk(names);
      const trace::SpanClass work{trace::SpanKind::kWork, StageId{0}, {}, {}};
      chunk.AddSpan(TrackId{0}, work, 1, 2, {});
      chunk.AddSpan(TrackId{1}, work, start, start + 5, {});
      const model::Run run = LoadChunk(chunk);
      CHECK(run.tracks[0].spans.size() == 1);
      CHECK(run.tracks[1].spans.size() == 0);
      CHECK(run.quality.damaged_bytes > 0);
    }
  }

  TEST_CASE("strings are kept once, however many chunks repeat them") {
    ScratchDir dir;
    test::TraceBuilder trace;
    const trace::StringId name = trace.Text("sgemm");
    const TrackId stream = trace.Stream("stream 7");
    for (int i = 0; i < 5; ++i) {
      trace.rows().Add(trace::Kernel{1, 2, 3, {}, 0, 0, stream, name});
      trace.EndChunk();
    }
    trace.Write(dir / "run.sst");
    const model::Run run = model::LoadTrace(dir / "run.sst").value();
    CHECK(run.strings == std::vector<std::string>{"sgemm"});
    CHECK(run.rows.kernels.size() == 5);
  }

  TEST_CASE("names past their limit are cut") {
    ScratchDir dir;
    test::TraceBuilder trace;
    trace.Stage(std::string(5000, 'n'));
    trace.Write(dir / "run.sst");
    const model::Run run = model::LoadTrace(dir / "run.sst").value();
    CHECK(run.stages[0].name.size() == trace::kMaxNameBytes);
  }
}
