#include "replay/workload/job_costs.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/model/profiled.h"
#include "replay/workload/build_workload.h"
#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/job_trace.h"
#include "tests/support/loaded_run.h"

using stallscope::LoaderId;
using stallscope::ProcessId;
using stallscope::Result;
using stallscope::StageId;
using stallscope::TrackId;
using stallscope::attribution::Attribute;
using stallscope::model::Run;
using stallscope::replay::BuildWorkload;
using stallscope::replay::JobCosts;
using stallscope::replay::Workload;
using stallscope::test::BuildJob;
using stallscope::test::JobShape;
using stallscope::test::RunBuilder;
using stallscope::test::TraceBuilder;

namespace {

Result<Workload> Built(const JobShape& shape) {
  TraceBuilder trace;
  BuildJob(trace, shape);
  const Run run = LoadedRun(trace);
  return BuildWorkload(run, Attribute(run));
}

// Two passes of 20 steps without workers, each followed by an evaluation of three batches.
struct Evaluating : RunBuilder {
  StageId fetch = Stage("fetch", "map");
  StageId loader = Stage("loader", "prefetch", 1, true, {fetch});
  StageId fetch2 = Stage("loader2.fetch", "map");
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  TrackId main = Thread("train.py", trainer);
  double burned = 0;  // CPU of the main process, of the 73 ms between two passes

  Run Made() {
    run.info.job.command = {"python", "train.py"};
    run.processes = {{ProcessId{0}, "train.py", 1, 0, {}, 0, 0}};
    run.tracks[main.value].info.process = ProcessId{0};
    for (const uint32_t i : {0U, 1U}) {
      stallscope::trace::LoaderInfo info;
      info.id = LoaderId{i};
      info.process = ProcessId{0};
      info.kind = "torch.utils.data.DataLoader";
      info.settings_json = R"({"num_workers":0,"batch_size":4})";
      run.loaders.push_back({info, i == 0 ? "loader" : "loader2", i == 0 ? 40U : 0U});
      (i == 0 ? run.stages[fetch.value] : run.stages[fetch2.value]).loader = LoaderId{i};
    }
    run.stages[loader.value].loader = LoaderId{0};
    const stallscope::CounterId cpu = Counter("process1.cpu");
    run.counters.back().process = ProcessId{0};
    int64_t now = 0;
    for (uint64_t pass = 0; pass < 2; ++pass) {
      Sample(cpu, now, static_cast<double>(pass) * burned);
      Sample(cpu, now + 20 * 15 * kMs, static_cast<double>(pass) * burned);
      for (uint64_t i = 0; i < 20; ++i) {
        const uint64_t item = pass << 32U | i;
        Work(main, fetch, now, now + 10 * kMs, {.item = item});
        Work(main, trainer, now + 10 * kMs, now + 15 * kMs, {.item = item});
        Step({.index = pass * 20 + i,
              .requested = now,
              .received = now + 10 * kMs,
              .done = now + 15 * kMs,
              .batch = item,
              .track = main,
              .samples = 4});
        now += 15 * kMs;
      }
      for (uint64_t i = 0; i < 3; ++i) {
        Work(main, fetch2, now, now + 20 * kMs, {.item = 1ULL << 48U | pass << 32U | i});
        Named(main, "evaluation", stallscope::trace::SpanActivity::kEvaluation, now,
              now + 22 * kMs);
        now += 22 * kMs;
      }
      now += 7 * kMs;  // a checkpoint
    }
    return Take();
  }
  static constexpr int64_t kMs = 1'000'000;
};

// 30 steps without workers: 10 ms for a batch, then 5 ms of the trainer's, or 8 while a profiler is
// open, which is from the 12th to the 18th, and shows what a device does.
struct Profiled : RunBuilder {
  static constexpr int64_t kMs = 1'000'000;
  StageId fetch = Stage("fetch", "map");
  StageId loader = Stage("loader", "prefetch", 1, true, {fetch});
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  TrackId main = Thread("train.py", trainer);
  TrackId stream = Stream();
  TrackId fetches = main;
  int64_t early = 0;  // a fetch begins before the request
  std::string op;     // within each fetch
  int64_t op_ns = 0;

  Run Made(uint64_t opened = 12, uint64_t steps = 30) {
    run.info.job.command = {"python", "train.py"};
    run.info.world_size = 1;
    run.processes = {{ProcessId{0}, "train.py", 1, 0, {}, 0, 0}};
    run.tracks[main.value].info.process = ProcessId{0};
    stallscope::trace::LoaderInfo info;
    info.id = LoaderId{0};
    info.process = ProcessId{0};
    info.kind = "torch.utils.data.DataLoader";
    info.settings_json = R"({"num_workers":0,"batch_size":4})";
    run.loaders.push_back({info, "loader", steps});
    run.stages[fetch.value].loader = run.stages[loader.value].loader = LoaderId{0};
    int64_t now = 0;
    for (uint64_t i = 0; i < steps; ++i) {
      const bool profiled = i >= opened && i < opened + 6;
      if (i == opened) Mark(stallscope::model::kProfilerStart, now);
      if (i == opened + 6) Mark(stallscope::model::kProfilerStop, now);
      const int64_t received = now + 10 * kMs;
      const int64_t done = received + (profiled ? 8 : 5) * kMs;
      // Ops come before the work around them.
      if (!op.empty()) Op(fetches, fetch, Text(op), now, now + op_ns, {.item = i});
      Work(fetches, fetch, now - early, received, {.item = i});
      Work(main, trainer, received, done, {.item = i});
      if (profiled) {
        Kernel(stream, received + kMs, received + 4 * kMs, {.enqueued = received + kMs});
      }
      Step({.index = i,
            .requested = now,
            .received = received,
            .done = done,
            .batch = i,
            .track = main,
            .samples = 4});
      now = done;
    }
    return Take();
  }
  void Mark(std::string_view name, int64_t at) {
    Named(main, std::string(name), stallscope::trace::SpanActivity::kAnnotation, at - 1, at);
  }
};

// 40 steps of 20 ms. Two threads or processes that name no batch load 15 ms for each, of which they
// compute 6; the loop takes 2 ms to put a batch together, and waits meanwhile.
struct LoadingAhead : RunBuilder {
  static constexpr int64_t kMs = 1'000'000;
  StageId fetch = Stage("fetch", "map", 2);
  StageId loader = Stage("loader", "prefetch", 1, true, {fetch});
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  TrackId main = Thread("train.py", trainer);
  std::vector<TrackId> ahead = {Thread("grain-prefetch_0", loader),
                                Thread("grain-prefetch_1", loader)};

  Run Made(const char* settings) {
    run.info.job.command = {"python", "train.py"};
    run.processes = {{ProcessId{0}, "train.py", 1, 0, {}, 0, 0}};
    for (stallscope::model::Track& track : run.tracks) track.info.process = ProcessId{0};
    stallscope::trace::LoaderInfo info;
    info.id = LoaderId{0};
    info.process = ProcessId{0};
    info.kind = "grain._src.python.dataset.transformations.batch._BatchDatasetIterator";
    info.settings_json = settings;
    run.loaders.push_back({info, "loader", 40});
    run.stages[fetch.value].loader = run.stages[loader.value].loader = LoaderId{0};
    for (uint64_t i = 0; i < 40; ++i) {
      const int64_t now = static_cast<int64_t>(i) * 20 * kMs;
      for (const TrackId track : ahead) {
        Work(track, fetch, now, now + 15 * kMs, {.cpu = 6 * kMs});
      }
      Work(main, fetch, now, now + 4 * kMs, {.item = i, .cpu = 2 * kMs});
      Work(main, trainer, now + 4 * kMs, now + 20 * kMs, {.item = i});
      Step({.index = i,
            .requested = now,
            .received = now + 4 * kMs,
            .done = now + 20 * kMs,
            .batch = i,
            .track = main,
            .samples = 4});
    }
    return Take();
  }
};

// Eight passes of six batches with two workers, which restart with each: a worker's first batch
// takes 9 ms to fetch and 3 ms to send, a later one 3 and 1; the first step 3 ms, a later one 1.
// Starting the workers burns 8 ms, and what else the main process does in a pass 1.2.
struct Restarting : RunBuilder {
  static constexpr int64_t kMs = 1'000'000;
  StageId sampler = Stage("sampler", "source");
  StageId fetch = Stage("fetch", "map", 2);
  StageId transport = Stage("transport", "transport", 2);
  StageId loader = Stage("loader", "prefetch", 1, true, {fetch});
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  TrackId main = Thread("train.py", trainer);

  Run Made() {
    run.info.job.command = {"python", "train.py"};
    run.processes = {{ProcessId{0}, "train.py", 1, 0, {}, 0, 0}};
    run.tracks[main.value].info.process = ProcessId{0};
    stallscope::trace::LoaderInfo info;
    info.id = LoaderId{0};
    info.process = ProcessId{0};
    info.kind = "torch.utils.data.DataLoader";
    info.settings_json = R"({"num_workers":2,"batch_size":4})";
    run.loaders.push_back({info, "loader", 48U});
    for (const StageId stage : {sampler, fetch, transport, loader}) {
      run.stages[stage.value].loader = LoaderId{0};
    }
    const stallscope::CounterId cpu = Counter("process1.cpu");
    run.counters.back().process = ProcessId{0};
    for (uint64_t pass = 0; pass < 8; ++pass) {
      const auto process = static_cast<uint32_t>(1 + 2 * pass);
      for (const uint32_t worker : {0U, 1U}) {
        run.processes.push_back({ProcessId{process + worker}, "worker", 10 + process, 1, {}, 0, 0});
      }
      const int64_t begin = static_cast<int64_t>(pass) * 100 * kMs;
      Wait(main, stallscope::trace::WaitCause::kStartup, {}, begin, begin + 10 * kMs);
      Work(main, sampler, begin + 10 * kMs, begin + 12 * kMs, {.item = pass << 32U});
      const double burned = static_cast<double>(pass) * 9.2 * kMs;
      Sample(cpu, begin, burned);
      Sample(cpu, begin + 10 * kMs, burned + 8 * kMs);
      Sample(cpu, begin + 22 * kMs, burned + 8 * kMs);
      Sample(cpu, begin + 45 * kMs, burned + 9.2 * kMs);
      for (const uint32_t worker : {0U, 1U}) {
        const TrackId thread = Thread("worker " + std::to_string(worker), fetch);
        run.tracks[thread.value].info.process = ProcessId{process + worker};
        int64_t now = begin + 10 * kMs;
        for (uint64_t i = worker; i < 6; i += 2) {
          const uint64_t item = pass << 32U | i;
          const int64_t ms = i < 2 ? 3 : 1;
          Work(thread, fetch, now, now + 3 * ms * kMs, {.item = item});
          Work(thread, transport, now + 3 * ms * kMs, now + 4 * ms * kMs, {.item = item});
          now += 4 * ms * kMs;
        }
      }
      int64_t now = begin + 22 * kMs;
      for (uint64_t i = 0; i < 6; ++i) {
        const uint64_t item = pass << 32U | i;
        const int64_t done = now + (i == 0 ? 4 : 2) * kMs;
        Work(main, transport, now, now + kMs, {.item = item});
        Work(main, trainer, now + kMs, done, {.item = item});
        Step({.index = pass * 6 + i,
              .requested = now,
              .received = now + kMs,
              .done = done,
              .batch = item,
              .samples = 4});
        now = done + kMs;
      }
    }
    return std::move(run);
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job costs: an evaluation between two passes, by its loader's batches") {
    const Run run = Evaluating().Made();
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE(built.ok());
    const JobCosts& costs = *built.value().recorded->job;
    CHECK(costs.passes == std::vector<uint64_t>{20});
    CHECK(costs.between_passes.evaluates_ns == doctest::Approx(66e6));
    CHECK(costs.between_passes.other_ns == doctest::Approx(7e6));
    CHECK(costs.evaluated_ns == doctest::Approx(132e6));
    CHECK(costs.pauses.empty());
    REQUIRE(costs.evaluations.size() == 1);
    const auto& evaluation = costs.evaluations[0];
    CHECK(evaluation.loader == "loader2");
    CHECK(evaluation.ns == doctest::Approx(132e6));
    CHECK(evaluation.costs->passes == std::vector<uint64_t>{3});
    REQUIRE(evaluation.costs->batches.size() == 6);
    const auto& fetch = evaluation.costs->batches[0].fetch;
    CHECK(fetch.cpu_ns + fetch.blocked_ns == doctest::Approx(20e6));
    const auto& own = evaluation.costs->steps[0];
    CHECK(own.cpu_ns + own.blocked_ns == doctest::Approx(2e6));
    CHECK(costs.copy_ns == 0);
    CHECK(costs.pins);
  }

  TEST_CASE("job costs: what the main process burns between its steps is no library's work") {
    Evaluating shape;
    shape.burned = 36.5e6;
    const Run run = shape.Made();
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE(built.ok());
    const JobCosts& costs = *built.value().recorded->job;
    CHECK(costs.pause_cpu_share == doctest::Approx(0.5).epsilon(0.05));
    CHECK(costs.math_ns == 0);
    CHECK(costs.main_extra_ns < 0.01e6);
  }

  TEST_CASE("job costs: threads of a math library that load batches, too") {
    const Run run = Evaluating().Made();
    stallscope::attribution::Attribution attribution = Attribute(run);
    CHECK_FALSE(BuildWorkload(run, attribution).value().recorded->job->loads_in_threads);
    attribution.cpu.loading = 1;
    attribution.cpu.beside_loading = 0.9;
    CHECK(BuildWorkload(run, attribution).value().recorded->job->loads_in_threads);
  }

  TEST_CASE("job costs: a pool of the job's own, for which its loading waits") {
    const Run run = Evaluating().Made();
    stallscope::attribution::Attribution attribution = Attribute(run);
    const auto in_pools = [&](const char* op, double part) {
      for (auto& use : attribution.stages) {
        use.sampled_ns = use.busy_ns;
        use.ops = {{.name = op, .ns = static_cast<int64_t>(part * double(use.busy_ns))}};
      }
      return BuildWorkload(run, attribution).value().recorded->job->in_pools;
    };
    CHECK(in_pools("waiting for load", 0.6));
    CHECK_FALSE(in_pools("waiting for load", 0.4));
    CHECK_FALSE(in_pools("load", 0.6));
  }

  TEST_CASE("job costs: what a thread of the job's fetches ahead of the steps is no handing out") {
    const auto hands_out = [](int64_t early) {
      Profiled scene;
      scene.fetches = scene.Thread("Thread-1", scene.trainer);
      scene.early = early;
      Run run = scene.Made(1000);
      run.tracks[scene.fetches.value].info.process = ProcessId{0};
      const auto built = BuildWorkload(run, Attribute(run));
      REQUIRE(built.ok());
      return built.value().recorded->job->hand_out_ns;
    };
    CHECK(hands_out(4 * Profiled::kMs) == 0);
    CHECK(hands_out(-2 * Profiled::kMs) == 2 * Profiled::kMs);  // it fetches for eight of ten
  }

  TEST_CASE("job costs: who waits for locks of files takes turns") {
    const auto held = [](const std::string& op, int64_t ns) {
      Profiled scene;
      scene.op = op;
      scene.op_ns = ns;
      const Run run = scene.Made(1000);
      const auto built = BuildWorkload(run, Attribute(run));
      REQUIRE(built.ok());
      return built.value().recorded->job->held;
    };
    CHECK(held("fcntl.flock", 6 * Profiled::kMs) == 1);
    CHECK(held("fcntl.flock", Profiled::kMs / 2) == 0);  // it is free nearly each time
    CHECK(held("Image.open", 6 * Profiled::kMs) == 0);
  }

  TEST_CASE("job costs: an evaluation within a pass is a pause after its step") {
    Evaluating scene;
    Run run = scene.Made();
    for (auto& step : run.rows.steps) {
      step.batch.value = step.index;  // one pass
    }
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE(built.ok());
    const JobCosts& costs = *built.value().recorded->job;
    REQUIRE(costs.pauses.size() == costs.steps.size());
    double evaluates = 0;
    for (const auto& pause : costs.pauses) evaluates += pause.evaluates_ns;
    CHECK(evaluates == doctest::Approx(66e6));
    CHECK(costs.between_passes.evaluates_ns == 0);
  }

  TEST_CASE("job costs: copies to the device, and a pin_memory that pins nothing") {
    Evaluating scene;
    const TrackId copies = scene.CopyEngine();
    for (int64_t i = 0; i < 40; ++i) scene.Copy(copies, i * 15'000'000, i * 15'000'000 + 500, 100);
    Run run = scene.Made();
    run.loaders[0].info.settings_json = R"({"num_workers":0,"batch_size":4,"pin_memory":true})";
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE(built.ok());
    const JobCosts& costs = *built.value().recorded->job;
    CHECK(costs.copy_ns == doctest::Approx(500).epsilon(0.1));
    CHECK(costs.copied_bytes == doctest::Approx(100).epsilon(0.1));
    CHECK_FALSE(costs.pins);
  }

  TEST_CASE("job costs: a batch's fetch, its transport on both sides, and the steps") {
    const auto built = Built({.workers = 2, .steps = 40});
    REQUIRE(built.ok());
    const Workload& workload = built.value();
    REQUIRE(workload.recorded->job != nullptr);
    const JobCosts& costs = *workload.recorded->job;
    CHECK(costs.loader.num_workers == 2);
    CHECK(costs.sends);
    REQUIRE(costs.batches.size() >= 30);
    const auto& batch = costs.batches[10];
    CHECK(batch.fetch.cpu_ns == doctest::Approx(3e6));
    // 27 ms off the CPU, but for the little that the worker waited for a core.
    CHECK(batch.fetch.blocked_ns == doctest::Approx(27e6).epsilon(0.1));
    CHECK(batch.send.cpu_ns + batch.send.blocked_ns == doctest::Approx(0.5e6).epsilon(0.1));
    CHECK(batch.receive.cpu_ns + batch.receive.blocked_ns == doctest::Approx(0.5e6).epsilon(0.1));
    CHECK(costs.batches[10].worker != costs.batches[11].worker);
    CHECK(costs.steps[5].cpu_ns + costs.steps[5].blocked_ns == doctest::Approx(8e6).epsilon(0.05));
    CHECK(costs.passes.empty());
    CHECK(costs.worker_bytes.has_value());
    CHECK(workload.recorded->trainer.batch == doctest::Approx(16));
  }

  TEST_CASE("job costs: the trainer's are those of the steps that no profiler slowed") {
    // Those of the window or, if too few of them are in a row, all.
    bool in_a_row = false;
    SUBCASE("in a row") { in_a_row = true; }
    SUBCASE("on both sides of the profiler") {}
    const Run run = in_a_row ? Profiled().Made() : Profiled().Made(9, 20);
    const stallscope::attribution::Attribution attribution = Attribute(run);
    REQUIRE(attribution.window.profiled_of == (in_a_row ? 0 : 20));
    const auto graph = BuildWorkload(run, attribution);
    REQUIRE_MESSAGE(graph.ok(), graph.error().Line());
    const JobCosts& costs = *graph.value().recorded->job;
    CHECK(costs.steps.size() > 10);
    for (const auto& step : costs.steps) {
      CHECK(step.cpu_ns + step.blocked_ns == doctest::Approx(5e6));
    }
  }

  TEST_CASE("job costs: what a worker's first batch costs more belongs to its start") {
    const Run run = Restarting().Made();
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE(built.ok());
    const JobCosts& costs = *built.value().recorded->job;
    REQUIRE(costs.batches.size() >= 30);
    for (const auto& batch : costs.batches) {
      CHECK(batch.fetch.cpu_ns + batch.fetch.blocked_ns == doctest::Approx(3e6).epsilon(0.01));
      CHECK(batch.send.cpu_ns + batch.send.blocked_ns == doctest::Approx(1e6).epsilon(0.01));
    }
    // Choosing the next pass's indices is no pause: it has a cost of its own.
    CHECK(costs.between_passes.other_ns == doctest::Approx(69e6).epsilon(0.01));
    REQUIRE(costs.start.has_value());
    CHECK(costs.start->first_step.cpu_ns + costs.start->first_step.blocked_ns ==
          doctest::Approx(2e6).epsilon(0.01));
    for (const auto& step : costs.steps) {
      CHECK(step.cpu_ns + step.blocked_ns == doctest::Approx(1e6).epsilon(0.01));
    }
    // What starting the workers burns is no cost of a batch.
    CHECK(costs.pause_cpu_share == doctest::Approx(1.2 / 69).epsilon(0.2));
    CHECK(costs.math_ns == 0);
  }

  TEST_CASE("job costs: what the trace does not hold is empty, and said") {
    TraceBuilder trace;
    BuildJob(trace, {.workers = 2, .steps = 40});
    Run run = LoadedRun(trace);
    run.loaders[0].info.settings_json = R"({"num_workers":0,"batch_size":16})";
    const auto attribution = Attribute(run);
    const auto built = BuildWorkload(run, attribution);
    REQUIRE(built.ok());
    CHECK_FALSE(built.value().recorded->job->sends);
    CHECK_FALSE(built.value().recorded->job->start.has_value());
    REQUIRE(built.value().recorded->limits.size() == 1);
    CHECK(built.value().recorded->limits[0].find("was not recorded") != std::string::npos);
  }

  TEST_CASE("job costs: steps that several loaders feed are not for this model") {
    TraceBuilder trace;
    BuildJob(trace, {.workers = 2, .steps = 40});
    Run run = LoadedRun(trace);
    run.loaders.push_back(run.loaders[0]);
    run.loaders[1].name = "loader2";
    run.loaders[1].steps = 40;
    CHECK_FALSE(BuildWorkload(run, Attribute(run)).ok());
    run.loaders[1].steps = 0;  // evaluation
    CHECK(BuildWorkload(run, Attribute(run)).ok());
  }

  TEST_CASE("job costs: the rank that waits longest stands for all, with its part of the cores") {
    const auto built = [](uint32_t ranks, uint32_t cores, uint32_t workers = 2) {
      TraceBuilder trace;
      trace.run.host.cores_online = cores;
      BuildJob(trace, {.workers = workers, .steps = 40, .ranks = ranks, .slower_ns = 6'000'000});
      const Run run = LoadedRun(trace);
      return BuildWorkload(run, Attribute(run));
    };
    const auto one = built(1, 4);
    const auto two = built(2, 8);
    REQUIRE(one.ok());
    REQUIRE_MESSAGE(two.ok(), two.error().Line());
    const auto& alone = *one.value().recorded;
    const auto& both = *two.value().recorded;
    CHECK(both.ranks == 2);
    CHECK(both.cores == 8);
    CHECK(both.trainer.batch == doctest::Approx(32).epsilon(0.12));  // the second is slower
    CHECK(both.job->loader.num_workers == 2);
    // Of the second rank, which is the slower one.
    REQUIRE(both.job->batches.size() == alone.job->batches.size());
    const auto fetch_ns = [](const auto& recorded) {
      const auto& fetch = recorded.job->batches[5].fetch;
      return fetch.cpu_ns + fetch.blocked_ns + fetch.io_ns;
    };
    CHECK(fetch_ns(both) == doctest::Approx(fetch_ns(alone) + 6e6).epsilon(0.02));
    CHECK(both.limits.back().find("rank 1, which waits longest, stands for all 2") == 0);
    REQUIRE(built(2, 8, 0).ok());

    CHECK_FALSE(built(2, 1).ok());
  }

  TEST_CASE("job costs: what grain's threads do is shared evenly among batches") {
    const auto built = [](const char* settings) {
      const Run run = LoadingAhead().Made(settings);
      return BuildWorkload(run, Attribute(run));
    };
    const auto threads = built(R"({"threads":2,"prefetch":64})");
    REQUIRE_MESSAGE(threads.ok(), threads.error().Line());
    const JobCosts& costs = *threads.value().recorded->job;
    CHECK(costs.of_grain);
    CHECK(costs.samples == 4);
    REQUIRE(costs.batches.size() == 1);
    CHECK(costs.batches[0].fetch.cpu_ns == doctest::Approx(12e6));
    CHECK(costs.batches[0].fetch.blocked_ns == doctest::Approx(18e6));
    CHECK(costs.batches[0].receive.cpu_ns == doctest::Approx(2e6));
    CHECK(costs.batches[0].receive.blocked_ns == 0);  // it waits for the threads
    // Without any, the loop makes each batch itself.
    const auto alone = built(R"({"threads":null,"prefetch":null})");
    REQUIRE(alone.ok());
    CHECK(alone.value().recorded->job->batches.size() > 20);
  }

  TEST_CASE("job costs: the threads of another library are not for this model") {
    TraceBuilder trace;
    BuildJob(trace, {.workers = 2, .steps = 40});
    Run run = LoadedRun(trace);
    run.loaders[0].info.settings_json = R"({"threads":2,"prefetch":4})";
    const auto built = BuildWorkload(run, Attribute(run));
    REQUIRE_FALSE(built.ok());
    CHECK(built.error().what.find("library divides its work") != std::string::npos);
    run.loaders[0].info.kind = "tf.data.Dataset";
    const auto graph = BuildWorkload(run, Attribute(run));
    REQUIRE_FALSE(graph.ok());
    CHECK(graph.error().what.find("only in windows of TensorFlow's profiler") != std::string::npos);
  }
}
