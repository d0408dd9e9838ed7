#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "collectors/recorder/recorder.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;            // NOLINT(google-build-using-namespace)
using namespace stallscope::recorder;  // NOLINT(google-build-using-namespace)
using test::ReadTrace;
using test::ScratchDir;
using test::Touch;

namespace {

// One recording with `threads` threads that end in one of three ways: they finish, they throw, or
// the recorder is stopped under their hands.
void Cycle(const std::string& path, unsigned number, unsigned threads) {
  Options options;
  options.ring_slots = 256;
  options.spare_rings = 2;
  options.flush_interval_ns = 1'000'000;
  auto started = Recorder::Start(path, {}, options);
  REQUIRE(started.ok());
  auto recorder = std::move(started).value();
  const StageId stage = recorder->DefineStage({{}, "work", "map", {}, {}, threads, true});
  std::atomic<uint64_t> issued{0};
  std::atomic<bool> cancel{false};
  const bool stop_early = number % 3 == 2;
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      try {
        ThreadScope thread(recorder.get(), "worker");
        for (uint64_t i = 0; stop_early ? !cancel.load() : i < 50; ++i) {
          SpanScope span(stage, ItemId{i});
          span.AddBytes(i % 2);
          if (number % 3 == 1 && t % 2 == 0 && i == 25) {
            issued += 26;  // the span that is open is written while the exception passes
            throw std::runtime_error("a worker fails");
          }
        }
        if (!stop_early) issued += 50;
      } catch (const std::runtime_error&) {
      }
    });
  }
  Summary summary;
  if (stop_early) {
    summary = recorder->Stop();
    cancel = true;
  }
  for (std::thread& worker : workers) worker.join();
  if (!stop_early) summary = recorder->Stop();
  CHECK(summary.emitted == summary.stored + summary.dropped);
  if (!stop_early) CHECK(summary.emitted == issued.load());
  CHECK(summary.first_error.empty());
  const auto trace = ReadTrace(path);
  CHECK(trace.sealed);
  CHECK(trace.SpanCount() == summary.stored);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("recordings start, stop, lose threads to exceptions and are stopped under way") {
    ScratchDir dir;
    for (unsigned i = 0; i < 60; ++i) Cycle(dir / "r.sst", i, 1 + (i * 7) % 16);
  }

  TEST_CASE("threads come and go by the thousand on a few rings") {
    ScratchDir dir;
    Options options;
    options.ring_slots = 64;
    options.spare_rings = 2;
    options.max_rings = 64;
    auto started = Recorder::Start(dir / "r.sst", {}, options);
    REQUIRE(started.ok());
    auto recorder = std::move(started).value();
    constexpr uint64_t kThreads = 2'000;
    for (uint64_t i = 0; i < kThreads; ++i) {
      std::thread([&] {
        ThreadScope thread(recorder.get(), "short");
        SpanScope span(StageId{0}, ItemId{i});
      }).join();
      if (i % 32 == 31) CHECK(recorder->Flush().ok());
    }
    const Summary summary = recorder->Stop();
    CHECK(summary.emitted == kThreads);
    CHECK(summary.dropped == 0);
    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.spans.size() == kThreads);
    CHECK(trace.tallies.size() == kThreads);
  }

  TEST_CASE("tracks outlive the recording and do no harm") {
    ScratchDir dir;
    std::shared_ptr<Track> track;
    {
      auto recorder = Recorder::Start(dir / "r.sst", {});
      REQUIRE(recorder.ok());
      track = recorder.value()->NewTrack({});
      Touch(*track, ItemId{1});
      CHECK(recorder.value()->Stop().stored == 1);
      CHECK(recorder.value()->Stop().stored == 1);  // the second call says the same
    }
    for (uint64_t i = 0; i < 100'000; ++i) Touch(*track, ItemId{i});
    CHECK(ReadTrace(dir / "r.sst").SpanCount() == 1);
  }

  TEST_CASE("nested scopes of two recorders each get their own") {
    ScratchDir dir;
    auto outer = Recorder::Start(dir / "a.sst", {});
    auto inner = Recorder::Start(dir / "b.sst", {});
    REQUIRE(outer.ok());
    REQUIRE(inner.ok());
    {
      ThreadScope a(outer.value().get(), "a");
      {
        ThreadScope b(inner.value().get(), "b");
        SpanScope span(StageId{0}, ItemId{1});
      }
      SpanScope span(StageId{0}, ItemId{2});
    }
    outer.value()->Stop();
    inner.value()->Stop();
    CHECK(ReadTrace(dir / "a.sst").spans.begin()->second.at(0).item == ItemId{2});
    CHECK(ReadTrace(dir / "b.sst").spans.begin()->second.at(0).item == ItemId{1});
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a thousand recordings with up to 64 threads") {
    ScratchDir dir;
    for (unsigned i = 0; i < 1000; ++i) Cycle(dir / "r.sst", i, 1 + (i * 7) % 64);
  }
}
