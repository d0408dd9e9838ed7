// Traces that say little, nonsense or half of it: from the file to the answer.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/loaded_run.h"
#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::NsOf;
using test::Random;
using test::ScratchDir;
using test::TraceBuilder;
using trace::WaitCause;

namespace {

Attribution AttributionOf(TraceBuilder& trace) { return Attribute(LoadedRun(trace)); }

int64_t Blamed(const Attribution& a) {
  int64_t ns = 0;
  for (const Blame& blame : a.blame) ns += blame.ns;
  return ns;
}

bool Says(const Attribution& a, const std::string& words) {
  return std::any_of(a.limits.begin(), a.limits.end(), [&](const std::string& limit) {
    return limit.find(words) != std::string::npos;
  });
}

void CheckAddsUp(const Attribution& a) {
  int64_t sum = 0;
  for (const auto& total : a.breakdown) sum += total.has_value() ? total->ns : 0;
  CHECK(sum == a.window.ns());
  CHECK(Blamed(a) == std::max<int64_t>(0, NsOf(a, Category::kInputStall)));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("empty run: empty window, limits say why") {
    TraceBuilder trace;
    const Attribution a = AttributionOf(trace);
    CHECK(a.window.ns() == 0);
    CHECK(a.window.steps == 0);
    CHECK(a.blame.empty());
    CHECK(a.stages.empty());
    CHECK(!a.throughput.has_value());
    CHECK(!a.step_ns.has_value());
    CHECK(!a.breakdown[At(Category::kInputStall)].has_value());
    CHECK(Says(a, "no steps"));
    CHECK(Says(a, "input_stall"));
    CHECK(Says(a, "compute"));
    CheckAddsUp(a);
  }

  TEST_CASE("run without steps: stages but no stalls") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    const TrackId worker = trace.Thread("decode/0", decode);
    trace.Work(worker, decode, 2000, 5000);
    trace.Seal(11'000);
    const Attribution a = AttributionOf(trace);
    CHECK(a.window.ns() == 10'000);
    CHECK(a.stages.at(0).elements == 1);
    CHECK(a.stages.at(0).utilization == doctest::Approx(0.3));
    CHECK(!a.stages.at(0).capacity_samples_per_s.has_value());
    CHECK(!a.breakdown[At(Category::kInputStall)].has_value());
    CHECK(NsOf(a, Category::kOther) == 10'000);
    CHECK(!a.throughput.has_value());
    CHECK(Says(a, "no steps"));
    CheckAddsUp(a);
  }

  TEST_CASE("one step, no device track") {
    TraceBuilder trace;
    trace.Step(0, 3000, 6000, trace.Thread("trainer"));
    const Attribution a = AttributionOf(trace);
    CHECK(a.window.steps == 1);
    CHECK(a.window.ns() == 3000);
    CHECK(NsOf(a, Category::kInputStall) == 1000);
    CHECK(NsOf(a, Category::kCompute) == 2000);
    CHECK(!a.breakdown[At(Category::kTransfer)].has_value());
    CHECK(Says(a, "no device track"));
    CheckAddsUp(a);
  }

  TEST_CASE("backward clocks, overlapping spans on a track") {
    Random random(12);
    for (int i = 0; i < 100; ++i) {
      TraceBuilder trace;
      const StageId decode = trace.Stage("decode", "map", 2);
      const QueueId queue = trace.Queue("decode", 4, decode);
      const TrackId worker = trace.Thread("decode/0", decode);
      const TrackId trainer = trace.Thread("trainer");
      const auto time = [&] { return static_cast<int64_t>(2000 + random.Below(5000)); };
      for (int s = 0; s < 30; ++s) {
        trace.Work(worker, decode, time(), time(), ItemId{random.Below(9)});
        trace.Wait(trainer, WaitCause::kEmpty, queue, time(), time());
        trace.rows().AddWaker(worker);
      }
      for (uint64_t k = 0; k < 8; ++k) {
        trace.rows().Add(trace::Step{k, time(), time(), time(), time(), ItemId{k}, trainer, 4, 0});
        trace.rows().Add(trace::Gap{time(), time(), 3, worker});
        trace.rows().Add(trace::QueueEvent{time(), {}, queue, worker, 3, trace::QueueOp::kPush});
      }
      const Attribution a = AttributionOf(trace);
      CheckAddsUp(a);
      for (const StageUse& use : a.stages) {
        CHECK((use.utilization >= 0 && use.utilization <= 1));
        CHECK(use.busy_ns >= 0);
      }
    }
  }

  TEST_CASE("half of the chunks lost: the rest adds up") {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      Random random(4'000'000 + seed);
      TraceBuilder trace;
      const StageId decode = trace.Stage("decode");
      const QueueId queue = trace.Queue("decode", 4, decode);
      const TrackId worker = trace.Thread("decode/0", decode);
      const TrackId trainer = trace.Thread("trainer");
      int64_t now = 2000;
      for (uint64_t k = 0; k < 40; ++k) {
        trace.Work(worker, decode, now, now + 100, ItemId{k});
        trace.Wait(trainer, WaitCause::kEmpty, queue, now, now + 100);
        trace.Step(k, now, now + 300, trainer);
        trace.EndChunk();
        now += 300;
      }
      trace.Seal(now);
      const ScratchDir dir;
      auto writer = trace::TraceWriter::Create(dir / "run.sst");
      REQUIRE(writer.ok());
      bool first = true;
      for (const auto& [type, payload] : trace.Payloads()) {
        if (first || random.OneIn(2)) REQUIRE(writer.value().Append(type, payload).ok());
        first = false;
      }
      const auto run = model::LoadTrace(dir / "run.sst");
      REQUIRE(run.ok());
      const Attribution a = Attribute(run.value());
      CHECK(a.window.steps + a.window.warmup_steps == run.value().rows.steps.size());
      CheckAddsUp(a);
    }
  }

  TEST_CASE("ids outside every table, rows without one, numbers past every limit") {
    TraceBuilder trace;
    const StageId decode = trace.Stage("decode", "map", std::numeric_limits<uint32_t>::max());
    const QueueId queue = trace.Queue("decode", std::numeric_limits<uint64_t>::max(), decode);
    const TrackId worker = trace.Thread("decode/0", decode);
    const TrackId stream = trace.Stream("stream", std::numeric_limits<uint32_t>::max());
    const StageId far_stage{9'999'999};
    const QueueId far_queue{9'999'999};
    const TrackId far_track{9'999'999};
    trace.Work(worker, far_stage, 2000, 2500, ItemId{~uint64_t{0} >> 1});
    trace.rows().AddCost(~uint64_t{0}, ~uint64_t{0});
    trace.Work(worker, decode, 2500, 2600);
    trace.rows().AddCost(~uint64_t{0}, 1);
    trace.Wait(worker, WaitCause::kEmpty, far_queue, 2600, 2900);
    trace.rows().AddWaker(far_track);
    trace.Wait(worker, WaitCause::kLock, queue, 2900, 3000);
    for (uint64_t k = 0; k < 4; ++k) {
      trace.rows().Add(trace::Step{~uint64_t{0} - k, 2000, 2900, 2950, 3000, ItemId{5}, far_track,
                                   ~uint32_t{0}, 0});
    }
    trace.rows().Add(trace::Step{0, 2000, 2900, 2950, 3000, ItemId{6}, stream, 1, 0});
    trace.rows().Add(trace::Batch{0, ItemId{5}, ItemId{5}, far_stage, 0, {}});
    trace.rows().Add(trace::Kernel{1, 2000, 2100, {}, 0, 0, far_track, trace::StringId{9'999'999}});
    trace.rows().Add(trace::Copy{1, 2000, 2100, {}, ~uint64_t{0}, 0, stream, {}, {}});
    trace.rows().Add(trace::QueueEvent{2500, {}, queue, worker, ~uint32_t{0}, {}});
    trace.rows().Add(trace::QueueEvent{2500, {}, far_queue, far_track, 1, {}});
    trace.rows().Add(trace::CacheEvent{1, {}, ~uint64_t{0}, far_stage, 0, trace::CacheOp::kFill});
    trace.rows().Add(trace::Gap{2000, 3000, 1, far_track});
    trace.rows().Add(trace::Sample{2000, 1.0, CounterId{9'999'999}});
    CheckAddsUp(AttributionOf(trace));
  }

  TEST_CASE("counters with NaN or impossible values") {
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity(), -1.0, 1e300}) {
      test::RunBuilder b;
      const StageId decode = b.Stage("decode");
      const TrackId worker = b.Thread("decode/0", decode);
      b.Work(worker, decode, 0, 100, {.cpu = 40});
      b.ThreadCounter(worker, "run_wait", 0, 100, value);
      b.ThreadCounter(worker, "on_cpu", 0, 100, value);
      for (const char* const name : {"memory.rss", "memory.peak", "memory.available",
                                     "process.cpu_user", "process.cpu_system", "cpu.steal"}) {
        const CounterId id = b.Counter(name);
        b.Sample(id, 0, value);
        b.Sample(id, 100, value);
      }
      for (uint64_t k = 0; k < 3; ++k) {
        const auto at = static_cast<int64_t>(k * 50);
        b.Step({.index = k,
                .requested = at,
                .received = at + 40,
                .issued = at + 50,
                .done = at + 50,
                .track = worker});
      }
      const Attribution a = Attribute(b.Take());
      CheckAddsUp(a);
      // A number of bytes is one, or is nothing.
      if (!(value >= 0 && value < 1e19)) CHECK(!a.memory.available_bytes.has_value());
    }
  }

  TEST_CASE("times a hundred days apart") {
    constexpr int64_t kFar = int64_t{1} << 53;
    for (const uint32_t devices : {0u, 1u, 4u}) {
      test::RunBuilder b;
      const StageId decode = b.Stage("decode");
      const QueueId queue = b.Queue("decode", 4, decode);
      std::vector<TrackId> workers;
      for (int i = 0; i < 5; ++i) {
        workers.push_back(b.Thread("decode", decode));
        b.Work(workers.back(), decode, -kFar, kFar);
        b.Work(workers.back(), decode, -kFar, kFar);
      }
      const TrackId trainer = b.Thread("trainer");
      b.Wait(trainer, WaitCause::kEmpty, queue, -kFar, kFar);
      for (uint32_t d = 0; d < devices; ++d) {
        b.Kernel(b.Stream(d), 0, kFar);
        b.Kernel(b.Stream(d), -kFar, 0);
      }
      for (uint64_t k = 0; k < 4; ++k) {
        b.Step({.index = k, .requested = -kFar, .received = kFar, .done = kFar, .track = trainer});
      }
      const Attribution a = Attribute(b.Take());
      CHECK(a.window.ns() > 0);
      CheckAddsUp(a);
    }
  }
}
