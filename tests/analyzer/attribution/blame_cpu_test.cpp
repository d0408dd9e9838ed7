// How work divides into cpu, cpu_contention, blocked and unknown, and what is renamed.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/attribution/system_use.h"
#include "tests/analyzer/attribution/run_builder.h"
#include "tests/analyzer/attribution/stall_scene.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::StallScene;
using trace::WaitCause;

namespace {

// A worker that works all the time, `cpu` of it on the CPU; ready without a core for `run_wait`.
std::string Worked(uint64_t cpu, double run_wait = -1) {
  StallScene s;
  s.end = 1000;
  const TrackId worker = s.Worker();
  s.Work(worker, s.decode, 0, 1000, {.cpu = cpu});
  if (run_wait >= 0) s.ThreadCounter(worker, "run_wait", 0, 1000, run_wait);
  s.Stall(worker);
  return s.Blamed();
}

// A stage of this kind whose thread reads, computes and is off the CPU.
std::string OfKind(const std::string& kind, double run_wait = -1) {
  StallScene s;
  s.run.stages[s.decode.value].kind = kind;
  const TrackId worker = s.Worker();
  s.Wait(worker, WaitCause::kIo, QueueId::None(), 80, 100);
  s.Work(worker, s.decode, 0, 100, {.cpu = 50});
  if (run_wait >= 0) s.ThreadCounter(worker, "run_wait", 0, 100, run_wait);
  s.Stall(worker);
  return s.Blamed();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("work: off the CPU is blocked, less than 3% is clock noise") {
    CHECK(Worked(1000) == "decode cpu 1000");
    CHECK(Worked(1200) == "decode cpu 1000");  // min(1, c / w)
    CHECK(Worked(400) == "decode blocked 600, decode cpu 400");
    CHECK(Worked(971) == "decode cpu 1000");
    CHECK(Worked(969) == "decode blocked 31, decode cpu 969");
    CHECK(Worked(1) == "decode blocked 999, decode cpu 1");
  }

  TEST_CASE("work: ready without a core is contention, up to the thread's counter") {
    CHECK(Worked(400, 150) == "decode blocked 450, decode cpu 400, decode cpu_contention 150");
    CHECK(Worked(400, 0) == "decode blocked 600, decode cpu 400");
    CHECK(Worked(400, 600) == "decode cpu 400, decode cpu_contention 600");
    CHECK(Worked(400, 5000) == "decode cpu 400, decode cpu_contention 600");
    CHECK(Worked(1000, 500) == "decode cpu 1000");  // was never off it here
  }

  TEST_CASE("counters: what grows within some intervals is told from what grows outside") {
    test::RunBuilder b;
    const CounterId clock = b.Counter("thread7.on_cpu");
    // In turns 30 that wait, with a fifth on the CPU, and 10 that compute; sampled each 7.
    Intervals waits;
    for (int64_t at = 0; at < 400; at += 40) waits.push_back({at, at + 30});
    const auto on_cpu = [](int64_t at) {
      const int64_t inside = std::min<int64_t>(at % 40, 30);
      return static_cast<double>(at / 40) * 16 + 0.2 * static_cast<double>(inside) +
             static_cast<double>(at % 40 - inside);
    };
    for (int64_t at = 0; at <= 400; at += 7) b.Sample(clock, at, on_cpu(at));
    Window window;
    window.end_ns = 400;
    const CounterRates counters(b.run, window);
    CHECK(counters.RateWithin("thread7.on_cpu", 0, waits).value_or(-1) == doctest::Approx(0.2));
    CHECK_FALSE(counters.RateWithin("thread8.on_cpu", 0, waits).has_value());
    // Nothing outside of it, or samples that all have the same part of it, tell nothing apart.
    CHECK_FALSE(counters.RateWithin("thread7.on_cpu", 0, {{0, 400}}).has_value());
    b.run.rows.samples.clear();
    for (int64_t at = 0; at <= 400; at += 40) b.Sample(clock, at, on_cpu(at));
    CHECK_FALSE(CounterRates(b.run, window).RateWithin("thread7.on_cpu", 0, waits).has_value());
  }

  TEST_CASE("counters: steady growth is told from a single rise") {
    const auto growth = [](auto&& level) {
      test::RunBuilder b;
      const CounterId rss = b.Counter("memory.rss");
      for (int64_t at = 0; at < 400; at += 10) b.Sample(rss, at, level(static_cast<double>(at)));
      Window window;
      window.end_ns = 400;
      return CounterRates(b.run, window).SteadyGrowth("memory.rss").value_or(0);
    };
    CHECK(growth([](double at) { return 1000 + 2 * at; }) == doctest::Approx(2).epsilon(0.05));
    CHECK(growth([](double at) { return 1000 + 2 * at + (at == 200 ? 5000 : 0); }) > 1.8);
    CHECK(growth([](double at) { return 1000 + 2 * std::min(at, 200.0); }) ==
          0);  // a cache, filled
    CHECK(growth([](double at) { return at < 200 ? 1000.0 : 9000.0; }) == 0);
    CHECK(growth([](double at) { return 1000 - at; }) == 0);
    CHECK(growth([](double) { return 1000.0; }) == 0);
    CHECK(growth([](double at) {
            return at < 200 ? std::numeric_limits<double>::quiet_NaN() : at;
          }) == 0);
  }

  TEST_CASE("work: another thread's counter does not count") {
    StallScene s;
    const TrackId worker = s.Worker();
    const TrackId other = s.Worker();
    s.Work(worker, s.decode, 0, 100, {.cpu = 40});
    s.Work(other, s.decode, 0, 100, {.cpu = 40});
    s.ThreadCounter(other, "run_wait", 0, 100, 60);
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 60, decode cpu 40");
  }

  TEST_CASE("work: between two spans a thread waits for a core and for nothing else") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Work(worker, s.decode, 0, 60, {.cpu = 30});
    s.Work(worker, s.decode, 70, 100, {.cpu = 30});  // 10 between the two
    s.ThreadCounter(worker, "run_wait", 0, 100, 20);
    s.Stall(worker);
    // Half of the 20 is between the two; the rest is a third of the time off the CPU.
    CHECK(s.Blamed() == "decode blocked 20, decode cpu 60, decode cpu_contention 20");
  }

  TEST_CASE("work: a thread that lived for part of the window waited only then") {
    StallScene s;
    s.end = 1000;
    for (int64_t start = 0; start < 1000; start += 100) {
      const TrackId worker = s.Worker();
      s.Work(worker, s.decode, start, start + 100, {.cpu = 40});
      s.ThreadCounter(worker, "run_wait", start, start + 100, 30);
    }
    s.Stall(TrackId{0});
    CHECK(s.Blamed() == "decode blocked 300, decode cpu 400, decode cpu_contention 300");
  }

  TEST_CASE("work: waits inside are not its own time") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Wait(worker, WaitCause::kIo, QueueId::None(), 0, 50);
    s.Work(worker, s.decode, 0, 100, {.cpu = 25});  // of 50
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 25, decode cpu 25, decode io 50");
  }

  TEST_CASE("work: nested waits are subtracted once") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Wait(worker, WaitCause::kIo, QueueId::None(), 10, 40);
    s.Wait(worker, WaitCause::kUnknown, QueueId::None(), 0, 50);
    s.Work(worker, s.decode, 0, 100, {.cpu = 25});  // of 50
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 25, decode cpu 25, decode io 30, decode unknown 20");
  }

  TEST_CASE("work: a span without a CPU time is divided like the measured ones of its stage") {
    StallScene s;
    const TrackId worker = s.Worker();
    const TrackId other = s.Worker();
    s.Work(worker, s.decode, 0, 100);
    s.Work(other, s.decode, 0, 40, {.cpu = 10});
    s.Work(other, s.decode, 40, 100, {.cpu = 40});  // 50 of 100
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 50, decode cpu 50");

    // Those of another stage tell nothing.
    StallScene near;
    const TrackId mine = near.Worker();
    near.Work(mine, near.decode, 0, 100);
    near.Work(near.Worker(), near.read, 0, 100, {.cpu = 50});
    near.Stall(mine);
    CHECK(near.Blamed() == "decode unknown 100");
  }

  TEST_CASE("work: a measured span's CPU time includes the work inside") {
    StallScene s;
    const TrackId worker = s.Worker();
    const TrackId other = s.Worker();
    s.Work(worker, s.decode, 0, 100);
    s.Work(other, s.read, 0, 50, {.cpu = 50});
    s.Work(other, s.decode, 0, 100, {.cpu = 70});  // 70 of 100, reading included
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 30, decode cpu 70");
  }

  TEST_CASE("work: without measured spans the thread's CPU time counts") {
    StallScene s;
    const TrackId worker = s.Worker();
    s.Work(worker, s.decode, 0, 80);
    s.Wait(worker, WaitCause::kEmpty, s.read_queue, 80, 100);
    s.ThreadCounter(worker, "on_cpu", 0, 100, 60);  // of 80 that it worked
    s.Stall(worker);
    CHECK(s.Blamed() == "decode blocked 20, decode cpu 60, read unknown 20");
  }

  TEST_CASE("work: without any CPU time it is unknown") {
    CHECK(Worked(0) == "decode unknown 1000");
  }

  TEST_CASE("serial: stages that cannot be parallelized as they are") {
    for (const char* const kind : {"shuffle", "filter", "shard", "repeat", "cache", "snapshot"}) {
      CHECK_MESSAGE(OfKind(kind) == "decode io 20, decode serial 80", kind);
    }
    for (const char* const kind : {"map", "source", "batch", "prefetch", "interleave", ""}) {
      CHECK_MESSAGE(OfKind(kind) == "decode blocked 30, decode cpu 50, decode io 20", kind);
    }
    // Contention stays what it is.
    CHECK(OfKind("shuffle", 30) == "decode cpu_contention 30, decode io 20, decode serial 50");
  }

  TEST_CASE("serial: source with one locked producer, by the spec") {
    const auto scene = [](const std::string& format) {
      StallScene s;
      s.run.info.spec_json = R"({"name": "x", "stages": [{"name": "read", "source": {"format": ")" +
                             format +
                             R"(", "files": ["a"]}}, {"name": "batch", "batch": {"size": 2}}]})";
      const TrackId worker = s.Thread("read/0", s.read);
      s.Work(worker, s.read, 0, 100, {.cpu = 100});
      s.Stall(worker);
      return s.Blamed();
    };
    CHECK(scene("serial") == "read serial 100");
    CHECK(scene("tfrecord") == "read cpu 100");
  }

  TEST_CASE("buffer: relabels io and cpu, not order, locks or unknown") {
    // One step of 400, of which 100 are stall; the pipeline works 100 of it.
    const auto scene = [](int64_t step) {
      StallScene s;
      const TrackId head = s.Worker();
      const TrackId b = s.Worker();
      s.Wait(head, WaitCause::kLock, s.turn, 0, 10);
      s.Wait(head, WaitCause::kUnknown, QueueId::None(), 10, 30);
      s.Wait(head, WaitCause::kIo, QueueId::None(), 30, 50);
      s.Work(head, s.decode, 30, 100, {.cpu = 25});
      s.Wait(b, WaitCause::kFull, s.queue, 80, 100);
      s.Work(b, s.decode, 100, 100);
      s.Wait(s.trainer, WaitCause::kEmpty, s.queue, 0, 100, {.waker = head});
      s.Step({.index = 0, .requested = 0, .received = 100, .done = step, .track = s.trainer});
      return s.Blamed();
    };
    // Work and reads: 70 on two workers are 35 a worker; 1.05 x 35 = 36.75.
    CHECK(scene(137) == "decode buffer 50, decode lock 10, decode order 20, decode unknown 20");
    CHECK(scene(136) ==
          "decode blocked 15, decode cpu 15, decode io 20, decode lock 10, decode order 20, "
          "decode unknown 20");
  }

  TEST_CASE("buffer: only where there is a queue to enlarge") {
    // The stage could keep up: it works 100 of each step's 300.
    const auto scene = [](bool own_queue, bool queue_after, bool threads, uint64_t capacity) {
      test::RunBuilder b;
      const StageId fetch = b.Stage("fetch");
      const StageId pass = b.Stage("pass", "map", 1, true, {fetch});
      const StageId train = b.Stage("trainer", "trainer", 1, true, {pass});
      if (own_queue) b.Queue("fetch", capacity, fetch);
      if (queue_after) b.Queue("pass", capacity, pass);
      const TrackId trainer = b.Thread("trainer", train);
      const TrackId worker = threads ? b.Thread("fetch/0", fetch) : trainer;
      for (uint64_t k = 0; k < 4; ++k) {
        const auto at = static_cast<int64_t>(300 * k);
        b.Work(worker, fetch, at, at + 100, {.cpu = 100});
        if (threads) {
          b.Wait(trainer, WaitCause::kEmpty, QueueId{0}, at, at + 100, {.waker = worker});
        }
        b.Step({.index = k,
                .requested = at,
                .received = at + 100,
                .done = at + 300,
                .track = trainer});
      }
      const model::Run run = b.Take();
      return test::BlameText(run, Attribute(run));
    };
    CHECK(scene(true, false, true, 4) == "fetch buffer 400");
    CHECK(scene(false, true, true, 4) == "fetch buffer 400");
    CHECK(scene(true, false, true, 0) == "fetch buffer 400");  // its capacity is unknown
    CHECK(scene(true, false, false, 0) == "fetch cpu 400");    // and there are no threads, either
    CHECK(scene(false, false, false, 0) == "fetch cpu 400");
  }

  TEST_CASE("buffer: workers that compute are no more than the cores") {
    // Two threads of a pool work all of each wait of 100, for a stage that is said to have many
    // workers; the step computes 20.
    const auto scene = [](uint32_t cores, uint64_t cpu) {
      StallScene s;
      s.run.info.host.cores_online = cores;
      const std::vector<TrackId> pool{s.Worker(), s.Worker()};
      s.run.stages[s.decode.value].workers = 57;
      for (uint64_t k = 0; k < 4; ++k) {
        const auto at = static_cast<int64_t>(120 * k);
        for (const TrackId thread : pool) s.Work(thread, s.decode, at, at + 100, {.cpu = cpu});
        s.Wait(s.trainer, WaitCause::kEmpty, s.queue, at, at + 100, {.waker = pool[0]});
        s.Step({.index = k,
                .requested = at,
                .received = at + 100,
                .done = at + 120,
                .track = s.trainer});
      }
      return s.Blamed();
    };
    CHECK(scene(2, 100) == "decode cpu 400");
    // Those that wait have room beside each other: 57 could have kept up.
    CHECK(scene(2, 5) == "decode buffer 400");
    // 200 x 1.05 on ten cores or on eleven: 21.0 and 19.1 of a step's 20.
    CHECK(scene(10, 100) == "decode cpu 400");
    CHECK(scene(11, 100) == "decode buffer 400");
  }

  TEST_CASE("the pool of a profile is on a core for its work, not for what waits for it") {
    // A worker maps for 1000, which another thread's work waits for. Together they were on a core
    // for `cpu`.
    const auto blamed = [](double cpu) {
      StallScene s;
      s.end = 1000;
      const TrackId worker = s.Worker();
      const TrackId shuffles = s.Worker();
      s.Work(worker, s.decode, 0, 1000);
      s.Wait(shuffles, WaitCause::kEmpty, QueueId::None(), 10, 990);
      s.Work(shuffles, s.decode, 0, 1000);
      for (const char* const name : {"process700.pool_on_cpu", "process700.pool_run_wait"}) {
        const CounterId counter = s.Counter(name);
        s.Sample(counter, 0, 0);
        s.Sample(counter, 1000, std::string(name).ends_with("on_cpu") ? cpu : 0);
      }
      s.Stall(worker);
      model::Run run = s.Take();
      run.info.imported_from = "tensorflow";
      run.processes.push_back({.id = ProcessId{0}, .pid = 700});
      for (model::Track& track : run.tracks) track.info.process = ProcessId{0};
      for (trace::SpanClass& what : run.span_classes) {
        if (what.queue == s.queue) what.activity = trace::SpanActivity::kLoader;
      }
      return test::BlameText(run, Attribute(run));
    };
    CHECK(blamed(1000) == "decode cpu 1000");
    CHECK(blamed(102) == "decode blocked 900, decode cpu 100");
  }

  TEST_CASE("buffer: only a nearby lack of capacity rules out a burst") {
    // Step k computes 100; the stage works 10 for each but 100,000 for the last, which counts by
    // 1 - distance / 65: 10 x 65 + 99,990 x weight against 6,500 / 1.05. From 62 steps away on the
    // stage could have kept up.
    test::RunBuilder b;
    const StageId decode = b.Stage("decode");
    const StageId train = b.Stage("trainer", "trainer", 1, true, {decode});
    const QueueId queue = b.Queue("decode", 4, decode);
    const TrackId worker = b.Thread("decode/0", decode);
    const TrackId trainer = b.Thread("trainer", train);
    int64_t now = 0;
    constexpr uint64_t kSteps = 300;
    for (uint64_t k = 0; k < kSteps; ++k) {
      const int64_t work = k + 1 == kSteps ? 100'000 : 10;
      b.Work(worker, decode, now, now + work, {.cpu = static_cast<uint64_t>(work)});
      b.Wait(trainer, WaitCause::kEmpty, queue, now, now + work, {.waker = worker});
      const int64_t done = now + work + 100;
      b.Step(
          {.index = k, .requested = now, .received = now + work, .done = done, .track = trainer});
      now = done;
    }
    // Step 237 lies 62 before the last one. Of a warm-up nothing is seen: all steps but the last
    // are alike.
    const model::Run run = b.Take();
    CHECK(test::BlameText(run, Attribute(run)) == "decode buffer 2380, decode cpu 100610");
  }
}
