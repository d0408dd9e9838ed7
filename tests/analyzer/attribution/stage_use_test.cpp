#include "analyzer/attribution/stage_use.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::attribution;
using doctest::Approx;
using test::Random;
using test::RunBuilder;
using trace::WaitCause;

namespace {

// Steps of 100 ns from 0, one sample each, without stalls.
void AddSteps(RunBuilder& b, uint64_t steps, uint32_t samples = 1) {
  for (uint64_t k = 0; k < steps; ++k) {
    const auto at = static_cast<int64_t>(100 * k);
    b.Step({.index = k, .requested = at, .received = at, .done = at + 100, .samples = samples});
  }
}

// 20 steps of 1,000 on two cores, for a tenth of which the trainer has its batch, and the
// DataLoader that feeds them.
struct Loading : RunBuilder {
  StageId fetch = Stage("fetch", "map");
  StageId trainer = Stage("trainer", "trainer", 1, true, {fetch});

  explicit Loading(int workers) : workers_(workers) {
    run.info.job.command = {"python", "train.py"};
    run.info.host.cores_online = 2;
    model::Loader& loader = run.loaders.emplace_back();
    loader.info.process = ProcessId{0};
    loader.info.kind = "torch.utils.data.DataLoader";
    loader.info.settings_json = R"({"num_workers":)" + std::to_string(workers) + "}";
    loader.steps = 20;
    run.stages[fetch.value].loader = LoaderId{0};
    if (workers > 0) Process("main", 0, 20'000, 0.1, 1.9);
  }
  // One whose only recorded thread uses `own` cores meanwhile, and all of them `all`.
  void Process(const std::string& name, int64_t start_ns, int64_t end_ns, double own, double all) {
    const ProcessId id{static_cast<uint32_t>(run.processes.size())};
    const TrackId thread = Thread(name, name == "main" ? trainer : fetch);
    run.processes.push_back({id, name, id.value + 1, 0, {}, 0, 0});
    run.tracks[thread.value].info.process = id;
    const auto ns = static_cast<double>(end_ns - start_ns);
    ThreadCounter(thread, "on_cpu", start_ns, end_ns, own * ns);
    const CounterId cpu = Counter("process" + std::to_string(id.value + 1) + ".cpu");
    run.counters.back().process = id;
    Sample(cpu, start_ns, 0);
    Sample(cpu, end_ns, all * ns);
    Work(thread, workers_ > 0 && name == "main" ? trainer : fetch, start_ns, end_ns);
  }
  CpuUse Used() {
    for (uint64_t i = 0; i < 20; ++i) {
      const auto at = static_cast<int64_t>(1000 * i);
      Step({.index = i,
            .requested = at,
            .received = at + 900,
            .done = at + 1000,
            .track = TrackId{0}});
    }
    return Attribute(Take()).cpu;
  }

 private:
  int workers_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("stage use: elements, service, bytes and utilization") {
    RunBuilder b;
    const StageId decode = b.Stage("decode", "map", 2);
    const TrackId one = b.Thread("decode/0", decode);
    const TrackId two = b.Thread("decode/1", decode);
    b.Work(one, decode, -50, 20, {.bytes = 10});  // 20 in the window, ends in it
    b.Work(one, decode, 100, 160, {.bytes = 20});
    b.Work(one, decode, 280, 340, {.bytes = 40});  // 20 in the window, ends after it
    b.Work(two, decode, 0, 80, {.bytes = 80});
    b.Work(two, decode, 400, 500, {.bytes = 160});  // after it
    AddSteps(b, 3, 2);
    const StageUse use = Attribute(b.Take()).stages.at(0);
    CHECK(use.elements == 3);
    CHECK(use.service_ns.mean == Approx((70 + 60 + 80) / 3.0));
    CHECK(use.service_ns.p50 == 70);
    CHECK(use.bytes == 110);
    CHECK(use.busy_ns == 20 + 60 + 20 + 80);
    CHECK(use.utilization == Approx(180 / 600.0));
    CHECK(use.items_per_sample == Approx(0.5));
    CHECK(use.workers == 2);
    CHECK(use.runs_in == decode);
    CHECK(use.ordered);
    CHECK(!use.serial);
  }

  TEST_CASE("stage use: starved and blocked as parts of the workers' time") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId decode = b.Stage("decode", "map", 2, true, {read});
    const QueueId in = b.Queue("read", 4, read);
    const QueueId out = b.Queue("decode", 4, decode);
    const TrackId one = b.Thread("decode/0", decode);
    const TrackId two = b.Thread("decode/1", decode);
    b.Wait(one, WaitCause::kEmpty, in, -100, 60);  // 60
    b.Wait(one, WaitCause::kFull, out, 60, 100);   // 40
    b.Wait(two, WaitCause::kEmpty, in, 100, 220);  // 120
    b.Wait(two, WaitCause::kFull, out, 280, 500);  // 20
    AddSteps(b, 3);
    const Attribution a = Attribute(b.Take());
    CHECK(a.stages[1].starved == Approx(180 / 600.0));
    CHECK(a.stages[1].blocked == Approx(60 / 600.0));
    CHECK(a.stages[0].starved == 0);
    CHECK(a.stages[1].utilization == 0);
    CHECK(!a.stages[1].capacity_samples_per_s.has_value());
  }

  TEST_CASE("stage use: io is busy time of the reading stage, a lock is not") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId decode = b.Stage("decode", "map", 1, true, {read});
    const QueueId lock = b.Lock("lock");
    const TrackId track = b.Thread("decode/0", decode);
    b.Wait(track, WaitCause::kIo, QueueId::None(), 10, 50);
    b.Work(track, read, 0, 60, {.cpu = 20});
    b.Wait(track, WaitCause::kLock, lock, 70, 90);
    b.Work(track, decode, 60, 200, {.cpu = 60});  // of 120 of its own
    AddSteps(b, 3);
    const Attribution a = Attribute(b.Take());
    const StageUse& source = a.stages[0];
    CHECK(source.busy_ns == 60);
    CHECK(source.io_ns == 40);
    CHECK(source.cpu_ns == 20);
    CHECK(source.blocked_ns == 0);
    CHECK(source.runs_in == decode);
    const StageUse& map = a.stages[1];
    CHECK(map.busy_ns == 120);
    CHECK(map.lock_ns == 20);
    CHECK(map.cpu_ns == 60);
    CHECK(map.blocked_ns == 60);
    CHECK(map.contention_ns == 0);
    CHECK(map.io_ns == 0);
  }

  TEST_CASE("stage use: contention and sampled CPU time by share") {
    RunBuilder b;
    const StageId decode = b.Stage("decode", "map", 1);
    const TrackId track = b.Thread("decode/0", decode);
    b.Work(track, decode, 0, 100, {.cpu = 40});
    b.Work(track, decode, 100, 300);  // was not sampled: 40 % likewise
    b.ThreadCounter(track, "run_wait", 0, 300, 90);
    AddSteps(b, 3);
    const StageUse use = Attribute(b.Take()).stages.at(0);
    CHECK(use.cpu_ns == 120);
    CHECK(use.contention_ns == 90);
    CHECK(use.blocked_ns == 90);
  }

  TEST_CASE("capacity: workers / own work per sample, within the cores") {
    const auto capacity = [](uint32_t workers, uint64_t cpu, double cores, double run_wait) {
      RunBuilder b;
      b.run.info.host.cores_online = 64;
      b.run.info.host.cgroup_cores = cores;
      const StageId decode = b.Stage("decode", "map", workers);
      for (uint32_t w = 0; w < workers; ++w) {
        const TrackId track = b.Thread("decode", decode);
        b.Work(track, decode, 0, 200, {.cpu = cpu});
        if (run_wait > 0) b.ThreadCounter(track, "run_wait", 0, 300, run_wait);
      }
      AddSteps(b, 3, 4);  // 12 samples
      return *Attribute(b.Take()).stages.at(0).capacity_samples_per_s;
    };
    // One worker: 200 ns for 12 samples.
    CHECK(capacity(1, 200, 0, 0) == Approx(12e9 / 200));
    // Four: 800 ns of work by four at a time.
    CHECK(capacity(4, 200, 0, 0) == Approx(12e9 / 200));
    // On two cores 800 ns of CPU take 400.
    CHECK(capacity(4, 200, 2, 0) == Approx(12e9 / 400));
    // Of which only 100 each are CPU: 400 on two cores take 200, as the workers do.
    CHECK(capacity(4, 100, 2, 0) == Approx(12e9 / 200));
    CHECK(capacity(4, 100, 1, 0) == Approx(12e9 / 400));
    // What it waited for a core is no need of its own.
    CHECK(capacity(1, 100, 0, 50) == Approx(12e9 / 150));
  }

  TEST_CASE("cores: affinity, quota, or what is online") {
    const auto cores = [](uint32_t online, uint32_t allowed, double cgroup) {
      RunBuilder b;
      b.run.info.host.cores_online = online;
      b.run.info.host.cores_allowed = allowed;
      b.run.info.host.cgroup_cores = cgroup;
      return Attribute(b.Take()).cpu.cores;
    };
    CHECK(cores(8, 0, 0) == 8);
    CHECK(cores(8, 4, 0) == 4);
    CHECK(cores(8, 4, 2.5) == 2.5);
    CHECK(cores(8, 4, 6) == 4);
    CHECK(cores(0, 0, 1.5) == 1.5);
    CHECK(cores(0, 0, 0) == 0);
  }

  TEST_CASE("workers: the maximum, if the tuner changed them") {
    const auto workers = [](const char* path, const char* value) {
      RunBuilder b;
      const StageId decode = b.Stage("decode", "map", 2);
      b.Work(b.Thread("decode/0", decode), decode, 0, 10);
      b.run.rows.knobs.push_back({5, b.Text(path), b.Text("2"), b.Text(value)});
      AddSteps(b, 3);
      return Attribute(b.Take()).stages.at(0).workers;
    };
    CHECK(workers("decode.parallelism", "6") == 6);
    CHECK(workers("decode.parallelism", "1") == 2);
    CHECK(workers("other.parallelism", "6") == 2);
    CHECK(workers("decode.parallelism", "auto") == 2);
    CHECK(workers("decode.parallelism", "-1") == 2);
    CHECK(workers("decode.parallelism", "99999999999999999999") == 2);
  }

  TEST_CASE("queue depth over time: events of several threads") {
    RunBuilder b;
    const StageId decode = b.Stage("decode");
    const QueueId queue = b.Queue("decode", 4, decode);
    // Two tracks' events in the file one after the other: 0-100: 2, 100-150: 4, 150-200: 0,
    // 200-300: 1.
    b.Push(queue, -50, 2);
    b.Push(queue, 150, 0);
    b.Push(queue, 350, 4);
    b.Push(queue, 100, 4);
    b.Push(queue, 200, 1);
    AddSteps(b, 3);
    const Attribution a = Attribute(b.Take());
    REQUIRE(a.stages[0].queue.has_value());
    const QueueUse& use = *a.stages[0].queue;
    CHECK(use.capacity == 4);
    CHECK(*use.mean == Approx((2 * 100 + 4 * 50 + 0 * 50 + 1 * 100) / 300.0));
    CHECK(*use.empty == Approx(50 / 300.0));
    CHECK(*use.full == Approx(50 / 300.0));
  }

  TEST_CASE("queue depth over time: very many events, threads far out of step") {
    Random random(13);
    for (const size_t apart : {1000u, 100'000u}) {  // events between two threads in the file
      RunBuilder b;
      const StageId decode = b.Stage("decode");
      const QueueId queue = b.Queue("decode", 4, decode);
      std::vector<std::pair<int64_t, uint32_t>> events;
      for (int64_t t = 0; t < 300'000; ++t) {
        events.emplace_back(t / 2 * 2, static_cast<uint32_t>(random.Below(6)));
      }
      // Even ones first, then odd ones, a stretch after the other.
      std::vector<std::pair<int64_t, uint32_t>> in_file;
      for (size_t from = 0; from < events.size(); from += 2 * apart) {
        for (const size_t odd : {0u, 1u}) {
          for (size_t i = from + odd; i < std::min(events.size(), from + 2 * apart); i += 2) {
            b.Push(queue, events[i].first, events[i].second);
            in_file.push_back(events[i]);
          }
        }
      }
      b.Step({.index = 0, .requested = 100, .received = 100, .done = 290'001});
      std::stable_sort(in_file.begin(), in_file.end(),
                       [](const auto& x, const auto& y) { return x.first < y.first; });
      double area = 0;
      double empty = 0;
      double full = 0;
      for (size_t i = 0; i < in_file.size(); ++i) {
        const int64_t until = i + 1 < in_file.size() ? in_file[i + 1].first : 290'001;
        const auto ns = static_cast<double>(std::max<int64_t>(
            0, std::min<int64_t>(until, 290'001) - std::max<int64_t>(in_file[i].first, 100)));
        area += ns * in_file[i].second;
        empty += in_file[i].second == 0 ? ns : 0;
        full += in_file[i].second >= 4 ? ns : 0;
      }
      const QueueUse use = *Attribute(b.Take()).stages.at(0).queue;
      CHECK(*use.mean == Approx(area / 289'901).epsilon(1e-12));
      CHECK(*use.empty == Approx(empty / 289'901).epsilon(1e-12));
      CHECK(*use.full == Approx(full / 289'901).epsilon(1e-12));
    }
  }

  TEST_CASE("memory: a queue behind a map holds decoded elements, as large as a batch's samples") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId decode = b.Stage("decode", "map", 1, true, {read});
    const StageId shuffle = b.Stage("shuffle", "shuffle", 1, true, {decode});
    const StageId batch = b.Stage("batch", "batch", 1, true, {shuffle});
    const StageId ahead = b.Stage("ahead", "prefetch", 1, true, {batch});
    const TrackId thread = b.Thread("worker", decode);
    b.Queue("read", 5, read);
    b.Queue("shuffle", 100, shuffle);
    b.Queue("ahead", 2, ahead);
    for (int64_t k = 0; k < 6; ++k) {
      b.Work(thread, read, 50 * k, 50 * k + 10, {.bytes = 30});
      b.Work(thread, decode, 50 * k + 10, 50 * k + 20);
      // Two samples of 700 bytes.
      if (k % 2 == 1) b.Work(thread, batch, 50 * k + 20, 50 * k + 30, {.bytes = 1400});
    }
    AddSteps(b, 3, 2);
    const MemoryUse memory = Attribute(b.Take()).memory;
    const auto held = [&](StageId stage) -> uint64_t {
      for (const auto& part : memory.stages) {
        if (part.stage == stage) return part.bytes;
      }
      return 0;
    };
    CHECK(held(read) == 5 * 30);
    CHECK(held(shuffle) == 100 * 700);
    CHECK(held(ahead) == 2 * 1400);
  }

  TEST_CASE("queue without events or capacity: no figures") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId decode = b.Stage("decode");
    b.Queue("read", 4, read);
    const QueueId unlimited = b.Queue("decode", 0, decode);
    b.Push(unlimited, 0, 7);
    AddSteps(b, 3);
    const Attribution a = Attribute(b.Take());
    REQUIRE(a.stages[0].queue.has_value());
    CHECK(!a.stages[0].queue->mean.has_value());
    CHECK(!a.stages[0].queue->empty.has_value());
    CHECK(!a.stages[0].queue->full.has_value());
    CHECK(*a.stages[1].queue->mean == 7);
    CHECK(!a.stages[1].queue->full.has_value());
  }

  TEST_CASE("memory: caches by their largest epoch, queues by bytes per element") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const StageId cache = b.Stage("cache", "cache", 1, true, {read});
    const StageId prefetch = b.Stage("prefetch", "prefetch", 1, true, {cache});
    b.Queue("prefetch", 3, prefetch);
    b.Work(b.Thread("read/0", read), read, 0, 10, {.bytes = 500});
    for (const auto& [epoch, bytes] :
         {std::pair(0u, 100u), std::pair(0u, 50u), std::pair(1u, 120u)}) {
      b.run.rows.cache_events.push_back({1, {}, bytes, cache, epoch, trace::CacheOp::kFill});
    }
    b.run.rows.cache_events.push_back({1, {}, 9999, cache, 0, trace::CacheOp::kHit});
    b.run.info.host.memory_bytes = 1000;
    b.run.info.host.memory_limit_bytes = 600;
    const CounterId rss = b.Counter("memory.rss");
    const CounterId peak = b.Counter("memory.peak");
    b.Sample(rss, 10, 300);
    b.Sample(rss, 20, 450);
    b.Sample(peak, 20, 400);
    AddSteps(b, 3);
    const MemoryUse use = Attribute(b.Take()).memory;
    REQUIRE(use.stages.size() == 2);
    CHECK(use.stages[0].stage == cache);
    CHECK(use.stages[0].bytes == 150);
    CHECK(use.stages[1].stage == prefetch);
    CHECK(use.stages[1].bytes == 1500);
    CHECK(use.limit_bytes == 600);
    CHECK(use.peak_rss_bytes == 450);
  }

  TEST_CASE("cpu: used, waited for, and taken away") {
    RunBuilder b;
    b.run.info.host.cores_online = 4;
    const auto counter = [&](const char* name, double per_ns) {
      const CounterId id = b.Counter(name);
      b.Sample(id, -100, 50);
      b.Sample(id, 0, 50);
      b.Sample(id, 300, 50 + 300 * per_ns);
      b.Sample(id, 400, 50 + 999);  // after the window
    };
    counter("process.cpu_user", 1.5);
    counter("process.cpu_system", 0.25);
    counter("process.run_wait", 0.5);
    counter("cgroup.throttled", 0.1);
    counter("cpu.steal", 0.4);
    counter("cpu.busy", 2);
    counter("io.requested", 2);
    AddSteps(b, 3);
    model::Run run = b.Take();
    const CpuUse use = Attribute(run).cpu;
    CHECK(*use.process_busy == Approx(1.75));
    CHECK(*use.run_wait == Approx(0.5));
    CHECK(*use.throttled == Approx(0.1));
    CHECK(*use.steal == Approx(0.1));
    CHECK(*use.others == Approx((2 + 0.4 - 1.75) / 4));
    CHECK(use.OthersDisturb());
    run.ranks_of_host = 2;  // with a recording each
    CHECK(Attribute(run).cpu.others == use.others);
    CHECK_FALSE(Attribute(run).cpu.OthersDisturb());
    CHECK(*use.read_bytes_per_s == Approx(2e9));
    CHECK(!use.disk_bytes_per_s.has_value());
  }

  TEST_CASE("cpu: what other threads of the workers use") {
    Loading scene(1);
    scene.Process("worker", 0, 20'000, 1, 1.8);
    const CpuUse with = scene.Used();
    CHECK(*with.loading == Approx(1));
    CHECK(*with.beside_loading == Approx(0.8));
    CHECK(with.LoadsInThreads());
    Loading without(1);
    without.Process("worker", 0, 20'000, 1, 1.4);
    CHECK_FALSE(without.Used().LoadsInThreads());
  }

  TEST_CASE("cpu: the input's part of the trainer's waits for a core") {
    // The trainer's thread has 0.1 of two cores, a worker's 1.2; other threads of both the rest.
    Loading scene(1);
    scene.ThreadCounter(TrackId{0}, "run_wait", 0, 20'000, 10'000);
    scene.Process("worker", 0, 20'000, 1.2, 1.2);
    const auto of_job = [&](const char* name, double cores) {
      const CounterId counter = scene.Counter(name);
      scene.Sample(counter, 0, 0);
      scene.Sample(counter, 20'000, cores * 20'000);
    };
    of_job("process.cpu_user", 1.5);
    of_job("process.cpu_system", 0.4);
    const CpuUse use = scene.Used();
    REQUIRE(use.taken_by_input.has_value());
    CHECK(*use.trainer_run_wait == Approx(0.5));
    CHECK(*use.taken_by_input == Approx(0.5 * 1.2 / (1.9 - 0.1)));
    CHECK_FALSE(Loading(1).Used().taken_by_input.has_value());
  }

  TEST_CASE("cpu: workers that follow one another count as one") {
    Loading scene(1);
    scene.Process("worker", 0, 10'000, 1, 1.8);
    scene.Process("worker", 10'000, 20'000, 1, 1.8);
    const CpuUse use = scene.Used();
    CHECK(*use.loading == Approx(1));
    CHECK(*use.beside_loading == Approx(0.8));
  }

  TEST_CASE("cpu: a process that trains and loads does one or the other") {
    // On two cores it trains for a tenth, in which the other core may work as well.
    const auto used = [](double all, bool evaluates) {
      Loading scene(0);
      scene.Process("main", 0, 20'000, 1, all);
      for (int64_t at = 0; at < 20'000 && evaluates; at += 1000) {
        scene.Named(TrackId{0}, "evaluation", trace::SpanActivity::kEvaluation, at, at + 400);
      }
      return scene.Used();
    };
    const CpuUse loads = used(1.9, false);
    CHECK(*loads.loading == Approx(0.9));
    CHECK(*loads.beside_loading == Approx(0.8));
    CHECK(loads.LoadsInThreads());
    // The same threads, for an evaluation that takes two fifths.
    const CpuUse evaluates = used(1.7, true);
    CHECK(*evaluates.loading == Approx(0.5));
    CHECK(*evaluates.beside_loading == Approx(0.2));
    CHECK_FALSE(evaluates.LoadsInThreads());
  }

  TEST_CASE("cpu: waits for a core by the threads' counters, where there is none of the process") {
    RunBuilder b;
    const TrackId trainer = b.Thread("train.py", b.Stage("trainer", "trainer"));
    const TrackId worker = b.Thread("worker", b.Stage("fetch"));
    b.ThreadCounter(trainer, "run_wait", 0, 300, 60);
    b.ThreadCounter(trainer, "on_cpu", 0, 300, 200);
    b.ThreadCounter(worker, "run_wait", 150, 450, 300);  // half of it after the window
    const CounterId other = b.Counter("threads.run_wait");
    b.Sample(other, 0, 0);
    b.Sample(other, 300, 300);
    for (uint64_t k = 0; k < 3; ++k) {
      const auto start = static_cast<int64_t>(100 * k);
      b.Step({.index = k,
              .requested = start,
              .received = start + 10,
              .issued = start + 100,
              .done = start + 100,
              .track = trainer});
    }
    const CpuUse use = Attribute(b.Take()).cpu;
    REQUIRE(use.run_wait.has_value());
    CHECK(*use.run_wait == Approx(0.2 + 0.5));
    REQUIRE(use.trainer_run_wait.has_value());
    CHECK(*use.trainer_run_wait == Approx(0.2));
    CHECK_FALSE(Attribute(RunBuilder().Take()).cpu.run_wait.has_value());
    CHECK_FALSE(use.others.has_value());
  }

  TEST_CASE("cross-check: least capacity against most blame") {
    const auto check = [](int64_t read_ns, int64_t decode_ns) {
      RunBuilder b;
      const StageId read = b.Stage("read", "source");
      const StageId decode = b.Stage("decode", "map", 1, true, {read});
      const StageId train = b.Stage("trainer", "trainer", 1, true, {decode});
      const TrackId reader = b.Thread("read/0", read);
      const TrackId worker = b.Thread("decode/0", decode);
      const TrackId trainer = b.Thread("trainer", train);
      const QueueId queue = b.Queue("decode", 1, decode);
      for (uint64_t k = 0; k < 3; ++k) {
        const auto at = static_cast<int64_t>(k * 200);
        b.Work(reader, read, at, at + read_ns, {.cpu = static_cast<uint64_t>(read_ns)});
        b.Work(worker, decode, at, at + decode_ns, {.cpu = static_cast<uint64_t>(decode_ns)});
        b.Wait(trainer, WaitCause::kEmpty, queue, at, at + 100, {.waker = worker});
        b.Work(trainer, train, at + 100, at + 200);
        b.Step({.index = k,
                .requested = at,
                .received = at + 100,
                .done = at + 200,
                .track = trainer});
      }
      return Attribute(b.Take()).cross_check;
    };
    const CrossCheck same = check(50, 100);
    CHECK(same.agrees);
    CHECK(same.by_capacity == StageId{1});
    const CrossCheck other = check(150, 100);
    CHECK(!other.agrees);
    CHECK(other.by_capacity == StageId{0});
    CHECK(other.text.find("'decode'") != std::string::npos);
    CHECK(other.text.find("'read'") != std::string::npos);
    // The trainer takes a sample in 100 ns: a reader that delivers as fast contradicts nothing.
    const CrossCheck keeps_up = check(100, 60);
    CHECK(keeps_up.agrees);
    CHECK(keeps_up.by_capacity == StageId{0});
    CHECK(keeps_up.text.empty());
    CHECK_FALSE(check(101, 60).agrees);
  }

  TEST_CASE("trainer: its capacity is what it would take if it never waited") {
    RunBuilder b;
    const StageId trainer = b.Stage("trainer", "trainer", 1);
    const TrackId thread = b.Thread("trainer", trainer);
    const TrackId stream = b.Stream();
    // 400 ns of each 1,000 are stall, 1 is the thread's own work.
    for (uint64_t k = 0; k < 4; ++k) {
      const auto at = static_cast<int64_t>(1000 * k);
      b.Work(thread, trainer, at + 400, at + 401);
      b.Kernel(stream, at + 401, at + 1000, {.enqueued = at + 401});
      b.Step({.index = k,
              .requested = at,
              .received = at + 400,
              .issued = at + 401,
              .done = at + 1000,
              .track = thread,
              .samples = 6});
    }
    CHECK(*Attribute(b.Take()).stages.at(0).capacity_samples_per_s == Approx(1e7));
  }

  TEST_CASE("stages that only pass elements on: counted at their queue, or before it") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source", 1);
    const StageId mix = b.Stage("mix", "shuffle", 1);
    const StageId ready = b.Stage("ready", "prefetch", 1);
    b.run.stages[mix.value].inputs = {read};
    b.run.stages[ready.value].inputs = {mix};
    const QueueId queue = b.Queue("ready", 2, ready);
    const TrackId thread = b.Thread("ready/0", ready);
    for (int64_t k = 0; k < 6; ++k) b.Work(thread, read, 50 * k, 50 * k + 10);
    for (int64_t k = 0; k < 3; ++k) b.Push(queue, 100 * k + 50, 1);
    b.Wait(thread, WaitCause::kFull, queue, 250, 260);
    AddSteps(b, 3);
    const auto stages = Attribute(b.Take()).stages;
    CHECK(stages.at(read.value).elements == 6);
    CHECK_FALSE(stages.at(read.value).passed.has_value());
    CHECK(stages.at(mix.value).elements == 0);
    CHECK(stages.at(mix.value).passed == 6);
    CHECK_FALSE(stages.at(mix.value).own_threads);
    CHECK(stages.at(ready.value).passed == 3);
    CHECK(stages.at(ready.value).own_threads);
  }
}
