#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
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

TEST_SUITE("fast") {
  TEST_CASE("in an overload what was emitted is what was stored and what was dropped") {
    ScratchDir dir;
    Options options;
    options.ring_slots = 64;
    auto started = Recorder::Start(dir / "r.sst", {}, options);
    REQUIRE(started.ok());
    auto recorder = std::move(started).value();
    constexpr uint64_t kThreads = 8;
    constexpr uint64_t kEvents = 50'000;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ThreadScope thread(recorder.get(), "worker");
        for (uint64_t i = 0; i < kEvents; ++i) {
          const Ticks now = NowTicks();
          if (i % 3 == 0) {
            thread.track()->Work(StageId{1}, ItemId{i}, now, now + 1, 7, 8);
          } else {
            thread.track()->Work(StageId{0}, ItemId{i}, now, now + 1);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Summary summary = recorder->Stop();
    CHECK(summary.emitted == kThreads * kEvents);
    CHECK(summary.stored + summary.dropped == summary.emitted);
    CHECK(summary.dropped > 0);

    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.Emitted() == summary.emitted);
    CHECK(trace.SpanCount() == summary.stored);
    CHECK(trace.DroppedInGaps() == summary.dropped);
    for (const trace::Tally& tally : trace.tallies) {
      CHECK(tally.emitted == tally.stored + tally.dropped);
      CHECK(tally.emitted == kEvents);
    }
    for (const auto& [track, spans] : trace.spans) {
      for (size_t i = 1; i < spans.size(); ++i) {
        REQUIRE(spans[i].item.value > spans[i - 1].item.value);
        REQUIRE(spans[i].start_ns >= spans[i - 1].start_ns);
      }
      for (const auto& span : spans) REQUIRE((span.bytes == 7) == (span.item.value % 3 == 0));
    }
  }

  TEST_CASE("a gap is where the events are missing") {
    ScratchDir dir;
    Options options;
    options.ring_slots = 64;
    options.look_interval_ns = 3'600'000'000'000;
    options.flush_interval_ns = 3'600'000'000'000;
    auto started = Recorder::Start(dir / "r.sst", {}, options);
    REQUIRE(started.ok());
    auto recorder = std::move(started).value();
    const auto track = recorder->NewTrack({});
    for (uint64_t i = 0; i < 100; ++i) Touch(*track, ItemId{i});
    CHECK(recorder->Flush().ok());
    for (uint64_t i = 100; i < 110; ++i) Touch(*track, ItemId{i});
    const Summary summary = recorder->Stop();
    CHECK(summary.dropped == 36);
    CHECK(summary.stored == 74);
    const auto trace = ReadTrace(dir / "r.sst");
    const auto& spans = trace.spans.begin()->second;
    REQUIRE(spans.size() == 74);
    CHECK(spans[63].item == ItemId{63});
    CHECK(spans[64].item == ItemId{100});
    REQUIRE(trace.rows.gaps.size() == 1);
    CHECK(trace.rows.gaps[0].dropped == 36);
    CHECK(trace.rows.gaps[0].from_ns >= spans[63].start_ns);
    CHECK(trace.rows.gaps[0].to_ns <= spans[64].start_ns);
    CHECK(trace.rows.gaps[0].track == track->id());
  }

  TEST_CASE("a ring that fills up between two drains is drained, also after calm ones") {
    ScratchDir dir;
    Options options;
    options.ring_slots = 1024;
    options.look_interval_ns = 1'000'000;
    options.calm_look_interval_ns = 2'000'000;
    options.flush_interval_ns = 3'600'000'000'000;
    auto started = Recorder::Start(dir / "r.sst", {}, options);
    REQUIRE(started.ok());
    auto recorder = std::move(started).value();
    const auto track = recorder->NewTrack({});
    for (uint64_t from = 0; from < 600; from += 200) {
      CHECK(recorder->Flush().ok());  // once it is empty: calm
      CHECK(recorder->Flush().ok());
      const auto before = std::filesystem::file_size(dir / "r.sst");
      for (uint64_t i = 0; i < 200; ++i) Touch(*track, ItemId{from + i});
      while (std::filesystem::file_size(dir / "r.sst") == before) std::this_thread::yield();
    }
    const Summary summary = recorder->Stop();
    CHECK(summary.dropped == 0);
    CHECK(summary.stored == 600);
  }

  TEST_CASE("events that never reached their track count as dropped, at the time of their loss") {
    ScratchDir dir;
    auto started = Recorder::Start(dir / "r.sst", {});
    REQUIRE(started.ok());
    const auto track = started.value()->NewTrack({});
    Touch(*track, ItemId{1});
    const Ticks t = NowTicks();
    track->Lost(3, t, t + 10);
    track->Lost(4, t + 20, t + 30);
    Touch(*track, ItemId{2});                // closes the gap
    track->Lost(5, NowTicks(), NowTicks());  // open when the recording ends
    const Summary summary = started.value()->Stop();
    CHECK(summary.emitted == 14);
    CHECK(summary.stored == 2);
    CHECK(summary.dropped == 12);
    const auto trace = ReadTrace(dir / "r.sst");
    CHECK(trace.Dropped() == 12);
    CHECK(trace.DroppedInGaps() == 12);
    REQUIRE(trace.rows.gaps.size() == 2);
    CHECK(trace.rows.gaps[0].dropped == 7);
    CHECK(trace.rows.gaps[0].from_ns <= trace.rows.gaps[0].to_ns);
  }

  TEST_CASE("a thread that finds no ring is counted, not blocked") {
    ScratchDir dir;
    Options options;
    options.ring_slots = 64;
    options.spare_rings = 1;
    options.max_rings = 2;
    auto started = Recorder::Start(dir / "r.sst", {}, options);
    REQUIRE(started.ok());
    auto recorder = std::move(started).value();
    std::vector<std::shared_ptr<Track>> tracks;
    for (int i = 0; i < 4; ++i) {
      tracks.push_back(recorder->NewTrack({}));
      Touch(*tracks.back(), ItemId{1});
    }
    const Summary summary = recorder->Stop();
    CHECK(summary.emitted == 4);
    CHECK(summary.stored == 2);
    CHECK(summary.dropped == 2);
    CHECK(ReadTrace(dir / "r.sst").DroppedInGaps() == 2);
  }
}
