#include "collectors/recorder/recorder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;            // NOLINT(google-build-using-namespace)
using namespace stallscope::recorder;  // NOLINT(google-build-using-namespace)
using test::ReadTrace;
using test::ScratchDir;
using test::Touch;
using trace::SpanKind;
using trace::WaitCause;

namespace {

std::unique_ptr<Recorder> StartRecorder(const std::string& path, const Options& options = {}) {
  trace::RunInfo run;
  run.name = "test";
  auto recorder = Recorder::Start(path, run, options);
  REQUIRE(recorder.ok());
  return std::move(recorder).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("spans and waits come back as they were written") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const StageId stage = recorder->DefineStage({{}, "decode", "map", {}, {}, 2, true});
    const QueueId queue = recorder->DefineQueue({{}, "decode->batch", 16, false});
    const auto track = recorder->NewTrack({{}, "decode/0", {}, stage, 7, 0});
    const Ticks t = NowTicks();
    track->Work(stage, ItemId{5}, t, t + 1000);
    track->Work(stage, ItemId{6}, t + 1000, t + 3000, 4096, 321);
    track->Wait(WaitCause::kFull, queue, t + 3000, t + 4000, TrackId{9});
    track->Wait(WaitCause::kIo, QueueId::None(), t + 3500, t + 4500);
    track->Work(StageId::None(), ItemId::None(), t + 4500, t + 4600);
    const Summary summary = recorder->Stop();
    CHECK(summary.emitted == 5);
    CHECK(summary.stored == 5);
    CHECK(summary.dropped == 0);
    CHECK(summary.first_error.empty());

    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.sealed);
    CHECK(trace.Emitted() == 5);
    REQUIRE(trace.spans.size() == 1);
    const auto& spans = trace.spans.begin()->second;
    REQUIRE(spans.size() == 5);
    CHECK(spans[0].span_class.kind == SpanKind::kWork);
    CHECK(spans[0].span_class.stage == stage);
    CHECK(spans[0].item == ItemId{5});
    CHECK(spans[0].end_ns == spans[1].start_ns);
    CHECK(spans[1].bytes == 4096);
    CHECK(spans[1].cpu_ns == 321);
    CHECK(spans[0].cpu_ns == 0);
    CHECK(spans[2].span_class.kind == SpanKind::kWait);
    CHECK(spans[2].span_class.cause == WaitCause::kFull);
    CHECK(spans[2].span_class.queue == queue);
    CHECK(spans[2].waker == TrackId{9});
    CHECK_FALSE(spans[3].waker.known());
    CHECK_FALSE(spans[3].span_class.queue.known());
    CHECK_FALSE(spans[4].item.known());
    CHECK_FALSE(spans[4].span_class.stage.known());
    CHECK(trace.track_names.begin()->second == "decode/0");
  }

  TEST_CASE("every other event comes back as it was written") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const StageId stage = recorder->DefineStage({{}, "cache", "cache", {}, {}, 1, true});
    const QueueId queue = recorder->DefineQueue({{}, "q", 16, false});
    const CounterId counter = recorder->DefineCounter("memory.rss", "bytes");
    const auto name = recorder->DefineString("sgemm");
    CHECK(recorder->DefineString("sgemm") == name);
    const auto track = recorder->NewTrack({{}, "stream 0", trace::TrackKind::kStream, {}, 0, 1});
    const auto at = [t = NowTicks()](uint64_t n) { return static_cast<int64_t>(t + n * 1000); };
    const auto ticks = [&](uint64_t n) { return static_cast<Ticks>(at(n)); };
    track->Push(queue, ItemId{1}, 3, ticks(0));
    track->Pop(queue, ItemId{1}, 2, ticks(1));
    track->Release(stage, ItemId{2}, ticks(1), ticks(2));
    track->Lineage(stage, ItemId{2}, ItemId{3});
    track->Batch(stage, ItemId{4}, 32, ItemId{31}, name, ticks(3));
    track->Element({ItemId{8}, 11, 12, 13, name, 2});
    track->Cache(stage, trace::CacheOp::kFill, ItemId{8}, 1, 99, ticks(4));
    track->Sample(counter, 1.5, ticks(5));
    trace::Copy copy{
        at(1), at(2), at(3), ItemId{4}, 1 << 20, 77, {}, {}, trace::CopyMemory::kPinned};
    copy.direction = trace::CopyDirection::kDeviceToHost;
    track->Copy(copy);
    track->Kernel({at(3), at(4), at(5), ItemId{4}, 78, 5, {}, name});
    track->Step({6, at(1), at(2), at(3), at(6), ItemId{4}, {}, 32, 1});
    recorder->Knob("decode.parallelism", "2", "4");
    CHECK(recorder->Stop().emitted == 11);

    const auto trace = ReadTrace(dir / "r.sst");
    REQUIRE(trace.rows.queue_events.size() == 2);
    CHECK(trace.rows.queue_events[0].depth == 3);
    CHECK(trace.rows.queue_events[1].op == trace::QueueOp::kPop);
    CHECK(trace.rows.queue_events[1].track == track->id());
    REQUIRE(trace.rows.releases.size() == 1);
    CHECK(trace.rows.releases[0].released_ns > trace.rows.releases[0].completed_ns);
    REQUIRE(trace.rows.lineage.size() == 1);
    CHECK(trace.rows.lineage[0].out == ItemId{3});
    REQUIRE(trace.rows.batches.size() == 1);
    CHECK(trace.rows.batches[0].last_arrival == ItemId{31});
    CHECK(trace.strings.at(trace.rows.batches[0].shape.value) == "sgemm");
    REQUIRE(trace.rows.elements.size() == 1);
    CHECK(trace.rows.elements[0].offset == 12);
    CHECK(trace.rows.elements[0].epoch == 2);
    REQUIRE(trace.rows.cache_events.size() == 1);
    CHECK(trace.rows.cache_events[0].op == trace::CacheOp::kFill);
    CHECK(trace.rows.cache_events[0].bytes == 99);
    REQUIRE(trace.rows.samples.size() == 1);
    CHECK(trace.rows.samples[0].value == 1.5);
    REQUIRE(trace.rows.copies.size() == 1);
    CHECK(trace.rows.copies[0].direction == trace::CopyDirection::kDeviceToHost);
    CHECK(trace.rows.copies[0].memory == trace::CopyMemory::kPinned);
    CHECK(trace.rows.copies[0].bytes == 1 << 20);
    CHECK(trace.rows.copies[0].correlation == 77);
    REQUIRE(trace.rows.kernels.size() == 1);
    CHECK(trace.rows.kernels[0].graph == 5);
    CHECK(trace.rows.kernels[0].track == track->id());
    REQUIRE(trace.rows.steps.size() == 1);
    CHECK(trace.rows.steps[0].index == 6);
    CHECK(trace.rows.steps[0].loss_scale_skipped == 1);
    CHECK(trace.rows.steps[0].samples == 32);
    CHECK(trace.rows.steps[0].device_done_ns > trace.rows.steps[0].issued_ns);
    REQUIRE(trace.rows.knobs.size() == 1);
    CHECK(trace.strings.at(trace.rows.knobs[0].new_value.value) == "4");
  }

  TEST_CASE("steps are counted for each trainer, and those of the one with the most are told") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    CHECK(recorder->steps().steps == 0);
    const auto one = recorder->NewTrack({});
    const auto other = recorder->NewTrack({});
    const auto start = static_cast<int64_t>(NowTicks());
    const auto step = [&](Track& track, int64_t at) {
      track.Step({0, start + at, start + at + 1'000, start + at + 2'000, start + at + 3'000});
    };
    step(*one, 0);
    step(*other, 10'000);
    step(*other, 20'000);
    REQUIRE(recorder->Flush().ok());
    const StepCount steps = recorder->steps();
    CHECK(steps.steps == 2);
    CHECK(steps.waited_ns > 0);
    CHECK(std::abs(steps.waited_ns * 3 - steps.all_ns) <= 12);  // rounded to whole nanoseconds
    CHECK(steps.all_ns < steps.last_ns - steps.first_ns);       // 6,000 of 13,000 ticks
  }

  TEST_CASE("a span with a name of its own belongs to no stage, however long it is") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const auto track = recorder->NewTrack({{}, "calls", trace::TrackKind::kDetail, {}, 7, 0});
    const trace::StringId name = recorder->DefineString("cudaLaunchKernel");
    const Ticks t = NowTicks();
    track->Named(trace::SpanActivity::kRuntime, name, t, t + 1000);
    track->Named(trace::SpanActivity::kMemset, name, t + 2000, t + (Ticks{1} << 41));
    track->Work(StageId::None(), ItemId::None(), t, t + 100);
    CHECK(recorder->Stop().stored == 3);
    const auto trace = ReadTrace(dir / "r.sst");
    REQUIRE(trace.spans.size() == 1);
    const auto& spans = trace.spans.begin()->second;
    REQUIRE(spans.size() == 3);
    CHECK(spans[0].span_class.activity == trace::SpanActivity::kRuntime);
    CHECK(trace.strings.at(spans[0].span_class.name.value) == "cudaLaunchKernel");
    CHECK_FALSE(spans[0].span_class.stage.known());
    CHECK(spans[1].span_class.activity == trace::SpanActivity::kMemset);
    CHECK(spans[1].end_ns - spans[1].start_ns > 100'000'000'000);
    CHECK(spans[2].span_class.activity == trace::SpanActivity::kNone);
  }

  TEST_CASE("a span of hours keeps its length, and its cost") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const auto track = recorder->NewTrack({});
    const Ticks t = NowTicks();
    const Ticks hours = Ticks{1} << 44;
    track->Work(StageId{0}, ItemId{1}, t, t + hours, 5, 6);
    track->Release(StageId{0}, ItemId{1}, t, t + hours);
    recorder->Stop();
    const auto trace = ReadTrace(dir / "r.sst");
    const auto& span = trace.spans.begin()->second.at(0);
    // Ticks are between 0.1 and 10 to the nanosecond on any machine.
    CHECK(span.end_ns - span.start_ns > static_cast<int64_t>(hours / 10));
    CHECK(span.bytes == 5);
    CHECK(trace.rows.releases[0].released_ns - trace.rows.releases[0].completed_ns ==
          span.end_ns - span.start_ns);
  }

  TEST_CASE("a span that ends before it starts has no length") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const auto track = recorder->NewTrack({});
    const Ticks t = NowTicks();
    track->Work(StageId{0}, ItemId{1}, t + 500, t);
    recorder->Stop();
    const auto span = ReadTrace(dir / "r.sst").spans.begin()->second.at(0);
    CHECK(span.start_ns == span.end_ns);
  }

  TEST_CASE("scopes write to the thread's track, and to nothing where there is none") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const StageId a = recorder->DefineStage({{}, "a", "map", {}, {}, 1, true});
    const StageId b = recorder->DefineStage({{}, "b", "map", {}, {}, 1, true});
    { SpanScope nowhere(a, ItemId{1}); }
    CHECK(CurrentTrack() == nullptr);
    {
      ThreadScope thread(recorder.get(), "main");
      {
        SpanScope span(a, ItemId{1});
        span.AddBytes(10);
        span.Next(b, ItemId{2});
      }
      { WaitScope wait(WaitCause::kLock, QueueId{3}); }
      SpanScope with_cpu(SpanScope::WithCpu{}, a, ItemId{4});
      const int64_t until = ThreadCpuNs() + 100'000;
      while (ThreadCpuNs() < until) {
      }
    }
    CHECK(CurrentTrack() == nullptr);
    {
      ThreadScope none(nullptr, "off");
      SpanScope nowhere(a, ItemId{1});
      CHECK(CurrentTrack() == nullptr);
    }
    recorder->Stop();
    const auto spans = ReadTrace(dir / "r.sst").spans.begin()->second;
    REQUIRE(spans.size() == 4);
    CHECK(spans[0].bytes == 10);
    CHECK(spans[1].start_ns == spans[0].end_ns);
    CHECK(spans[1].span_class.stage == b);
    CHECK(spans[1].bytes == 0);
    CHECK(spans[2].span_class.cause == WaitCause::kLock);
    CHECK(spans[3].cpu_ns >= 100'000);
  }

  TEST_CASE("a flush makes everything so far readable while the run goes on") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    const auto track = recorder->NewTrack({});
    for (uint64_t i = 0; i < 100; ++i) Touch(*track, ItemId{i});
    CHECK(recorder->Flush().ok());
    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.SpanCount() == 100);
    CHECK_FALSE(trace.sealed);
    CHECK(trace.damage.bytes == 0);
  }

  TEST_CASE("the flusher drains by itself") {
    ScratchDir dir;
    Options options;
    options.flush_interval_ns = 1'000'000;
    auto recorder = StartRecorder(dir / "r.sst", options);
    const auto track = recorder->NewTrack({});
    Touch(*track, ItemId{1});
    // Ends by ctest's limit if nobody ever drains.
    while (ReadTrace(dir / "r.sst").SpanCount() == 0) std::this_thread::yield();
    CHECK(recorder->Stop().stored == 1);
  }

  TEST_CASE("many strings and long texts go into as many frames as they need") {
    ScratchDir dir;
    auto recorder = StartRecorder(dir / "r.sst");
    recorder->UpdateRun([](trace::RunInfo& run) { run.spec_json = std::string(5 << 20, 'x'); });
    const auto track = recorder->NewTrack({});
    for (uint64_t i = 0; i < 2000; ++i) {
      const auto file = recorder->DefineString(std::string(3000, 'f') + std::to_string(i));
      track->Element({ItemId{i}, i, 0, 1, file, 0});
    }
    const Summary summary = recorder->Stop();
    CHECK(summary.first_error.empty());
    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.damage.bytes == 0);
    REQUIRE(trace.rows.elements.size() == 2000);
    CHECK(trace.strings.at(trace.rows.elements[1999].file.value) ==
          std::string(3000, 'f') + "1999");
    CHECK(trace.chunks.size() > 6);
  }

  TEST_CASE("invalid options and missing folders are errors") {
    ScratchDir dir;
    Options odd;
    odd.ring_slots = 1000;
    CHECK_FALSE(Recorder::Start(dir / "r.sst", {}, odd).ok());
    const auto nowhere = Recorder::Start(dir / "no/r.sst", {});
    REQUIRE_FALSE(nowhere.ok());
    CHECK(nowhere.error().kind == ErrorKind::kRun);
  }
}
