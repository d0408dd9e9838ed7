// What is blamed when the trace knows the way of the awaited batch.
#include <doctest/doctest.h>

#include "analyzer/model/profiled.h"
#include "tests/analyzer/attribution/stall_scene.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::StallScene;
using trace::WaitCause;

namespace {

constexpr uint64_t kBatch = 1000;

struct PathScene : StallScene {
  StageId batch = Stage("batch", "batch", 1, true, {decode});
  TrackId reader = Thread("read/0", read);
  TrackId worker = Worker();
  TrackId other = Worker();
  TrackId batcher = Thread("batch/0", batch);

  // A step that waits for this item, on which the worker began so much earlier. Gives its end.
  int64_t StalledStep(uint64_t k, uint64_t item, int64_t now, int64_t stall, int64_t ahead = 0) {
    Work(worker, decode, now - ahead, now + stall,
         {.item = item, .cpu = static_cast<uint64_t>(stall + ahead)});
    Batch(kBatch + k, item);
    Step({.index = k,
          .requested = now,
          .received = now + stall,
          .done = now + stall + 100,
          .batch = kBatch + k,
          .track = trainer});
    return now + stall + 100;
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("path: work on the last element, and what the next thread did in between") {
    PathScene s;
    s.Work(s.reader, s.read, 0, 30, {.item = 7, .cpu = 30});
    s.Work(s.worker, s.decode, 20, 50, {.item = 6, .cpu = 30});  // 30 to 50: instead of 7
    s.Work(s.worker, s.decode, 50, 90, {.item = 7, .cpu = 20});
    s.Work(s.other, s.decode, 0, 100, {.item = 8, .cpu = 100});  // of the batch, not the last
    s.Wait(s.batcher, WaitCause::kEmpty, s.queue, 0, 90, {.waker = s.other});
    s.Work(s.batcher, s.batch, 90, 100, {.item = kBatch, .cpu = 10});
    s.Batch(kBatch, 7);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 10, decode blocked 20, decode cpu 40, read cpu 30");
  }

  TEST_CASE("path: another last element blames other threads") {
    PathScene s;
    s.Work(s.reader, s.read, 0, 30, {.item = 7, .cpu = 30});
    s.Work(s.worker, s.decode, 30, 90, {.item = 7, .cpu = 30});
    s.Work(s.other, s.decode, 0, 90, {.item = 8, .cpu = 90});
    s.Work(s.batcher, s.batch, 90, 100, {.item = kBatch, .cpu = 10});
    s.Batch(kBatch, 8);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 10, decode cpu 90");
  }

  TEST_CASE("path: work before the stall costs nothing") {
    PathScene s;
    s.run.info.start_ns = -500;
    s.Work(s.reader, s.read, -300, -200, {.item = 7, .cpu = 100});
    s.Work(s.worker, s.decode, -100, 25, {.item = 7, .cpu = 125});
    s.Work(s.batcher, s.batch, 25, 100, {.item = kBatch, .cpu = 75});
    s.Batch(kBatch, 7);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 75, decode cpu 25");
  }

  TEST_CASE("path: only the time the device is idle counts") {
    PathScene s;
    s.Work(s.reader, s.read, 0, 30, {.item = 7, .cpu = 30});
    s.Work(s.worker, s.decode, 30, 90, {.item = 7, .cpu = 60});
    s.Work(s.batcher, s.batch, 90, 100, {.item = kBatch, .cpu = 10});
    s.Batch(kBatch, 7);
    s.Kernel(s.Stream(), 10, 40);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 10, decode cpu 50, read cpu 10");
  }

  TEST_CASE("path: before the first piece of work, the thread that did it") {
    PathScene s;
    s.Work(s.worker, s.read, 0, 40, {.item = 5, .cpu = 40});
    s.Work(s.worker, s.decode, 40, 100, {.item = 7, .cpu = 60});
    s.Batch(kBatch, 7);
    s.Stall(s.other, kBatch);
    CHECK(s.Blamed() == "decode cpu 60, read cpu 40");
  }

  TEST_CASE("path: after the last piece of work, the thread that waited for the batch") {
    PathScene s;
    s.Work(s.worker, s.decode, 0, 40, {.item = 7, .cpu = 40});
    s.Work(s.other, s.read, 0, 100, {.cpu = 100});
    s.Batch(kBatch, 7);
    s.Stall(s.other, kBatch);  // the trainer waited for `other`
    CHECK(s.Blamed() == "decode cpu 40, read cpu 60");
  }

  TEST_CASE("path: a batch of batches is followed to the element") {
    PathScene s;
    s.Work(s.reader, s.read, 0, 30, {.item = 7, .cpu = 30});
    s.Work(s.worker, s.decode, 30, 60, {.item = 500, .cpu = 30});
    s.Work(s.batcher, s.batch, 60, 100, {.item = kBatch, .cpu = 40});
    s.Batch(kBatch, 500);
    s.Batch(500, 7);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 40, decode cpu 30, read cpu 30");
  }

  TEST_CASE("path: batches that contain themselves or each other") {
    PathScene s;
    s.Work(s.batcher, s.batch, 0, 100, {.item = kBatch, .cpu = 100});
    s.Batch(kBatch, 500);
    s.Batch(500, kBatch);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 100");
  }

  TEST_CASE("path: cached element without decoding") {
    PathScene s;
    const StageId cache = s.Stage("cache", "cache");
    s.Work(s.worker, s.decode, 0, 100, {.item = 6, .cpu = 100});  // another element, a miss
    s.Work(s.batcher, cache, 0, 60, {.item = 7, .cpu = 60});
    s.Work(s.batcher, s.batch, 60, 100, {.item = kBatch, .cpu = 40});
    s.Batch(kBatch, 7);
    s.run.rows.cache_events.push_back({0, ItemId{7}, 10, cache, 1, trace::CacheOp::kHit});
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 40, cache serial 60");
  }

  TEST_CASE("path: waits inside the work on it, and work inside the work") {
    PathScene s;
    s.Wait(s.worker, WaitCause::kIo, QueueId::None(), 10, 40);
    s.Work(s.worker, s.read, 5, 45, {.item = 7, .cpu = 10});
    s.Work(s.worker, s.decode, 0, 90, {.item = 7, .cpu = 60});
    s.Work(s.batcher, s.batch, 90, 100, {.item = kBatch, .cpu = 10});
    s.Batch(kBatch, 7);
    s.Stall(s.batcher, kBatch);
    CHECK(s.Blamed() == "batch cpu 10, decode cpu 50, read cpu 10, read io 30");
  }

  TEST_CASE("path: order while half of the other workers wait for room behind the element") {
    const auto scene = [](bool ordered, bool own_queue) {
      PathScene s;
      s.run.stages[s.decode.value].ordered = ordered;
      s.Work(s.worker, s.decode, 0, 100, {.item = 7, .cpu = 100});
      s.Wait(s.other, WaitCause::kFull, own_queue ? s.queue : s.read_queue, 20, 70);
      s.Batch(kBatch, 7);
      s.Stall(s.worker, kBatch);
      return s.Blamed();
    };
    CHECK(scene(true, true) == "decode cpu 50, decode order 50");
    CHECK(scene(true, false) == "decode cpu 100");  // room in another stage's queue
    CHECK(scene(false, true) == "decode cpu 100");
  }

  TEST_CASE("path: two threads on one element at once") {
    PathScene s;
    s.Work(s.worker, s.decode, 0, 80, {.item = 7, .cpu = 80});
    s.Work(s.other, s.decode, 40, 100, {.item = 7, .cpu = 60});
    s.Batch(kBatch, 7);
    s.Stall(s.other, kBatch);
    CHECK(s.Blamed() == "decode cpu 100");
  }

  TEST_CASE("path: each step's own batch") {
    PathScene s;
    s.Work(s.reader, s.read, 0, 100, {.item = 1, .cpu = 100});
    s.Work(s.worker, s.decode, 100, 150, {.item = 2, .cpu = 50});
    s.Batch(kBatch, 1);
    s.Batch(kBatch + 1, 2);
    s.Step({.index = 0,
            .requested = 0,
            .received = 100,
            .done = 100,
            .batch = kBatch,
            .track = s.trainer});
    s.Step({.index = 1,
            .requested = 100,
            .received = 150,
            .done = 150,
            .batch = kBatch + 1,
            .track = s.trainer});
    CHECK(s.Blamed() == "decode cpu 50, read cpu 100");
  }

  TEST_CASE("stragglers: steps delayed by one element, largest first") {
    PathScene s;
    const auto file = s.Text("shard-3");
    s.run.rows.elements.push_back({ItemId{9}, 42, 0, 0, file, 0});
    int64_t now = 0;
    for (uint64_t k = 0; k < 30; ++k) {
      const int64_t stall = k == 20 ? 500 : k == 10 ? 300 : 10;
      const uint64_t item = k == 20 ? 9 : 100 + k;
      now = s.StalledStep(k, item, now, stall, k == 20 ? 50 : 0);
    }
    const model::Run run = s.Take();
    const Attribution a = Attribute(run);
    REQUIRE(a.stragglers.size() == 2);
    const Straggler& worst = a.stragglers[0];
    CHECK(worst.step == 20);
    CHECK(worst.stall_ns == 500);
    CHECK(worst.element_ns == 500);
    CHECK(worst.took_ns == 550);
    CHECK(worst.stage == s.decode);
    CHECK(worst.cause == Cause::kCpu);
    CHECK(worst.element == ItemId{9});
    CHECK(run.Text(worst.file) == "shard-3");
    CHECK(worst.record == 42);
    CHECK(a.stragglers[1].step == 10);
    CHECK(!a.stragglers[1].file.known());
  }

  TEST_CASE("stragglers: a batch that the recording slowed down is none") {
    const auto count = [](int64_t timed_from, int64_t timed_until) {
      PathScene s;
      int64_t now = 0;
      for (uint64_t k = 0; k < 30; ++k) {
        now = s.StalledStep(k, k, now, k == 20 ? 500 : 10);
      }
      s.Named(s.other, std::string(model::kTimingOfLines), trace::SpanActivity::kAnnotation,
              timed_from, timed_until);
      return Attribute(s.Take()).stragglers.size();
    };
    const int64_t at = 20 * 110;
    CHECK(count(at, at + 495) == 0);
    CHECK(count(at - 90, at + 400) == 0);
    CHECK(count(at - 500, at + 100) == 1);
    CHECK(count(at + 300, at + 320) == 1);
    CHECK(count(at + 510, at + 990) == 1);
  }

  TEST_CASE("stragglers: equal stalls of a century are none") {
    PathScene s;
    constexpr int64_t kStall = 3'200'000'000'000'000'000;  // three of them are too many for 64 bits
    int64_t now = -kStall;
    for (uint64_t k = 0; k < 2; ++k) {
      now = s.StalledStep(k, k, now, kStall);
    }
    CHECK(Attribute(s.Take()).stragglers.empty());
  }
}
