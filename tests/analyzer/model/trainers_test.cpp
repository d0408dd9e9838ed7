#include "analyzer/model/trainers.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "analyzer/model/job_spec.h"
#include "analyzer/model/ranks.h"
#include "analyzer/model/saver.h"
#include "tests/support/loaded_run.h"

using namespace stallscope;
using stallscope::test::TraceBuilder;

namespace {

// A process that trains from a DataLoader with one worker process.
struct TrainerProcess {
  ProcessId process;
  LoaderId loader;
  StageId fetch;
  QueueId queue;
  TrackId main;
  TrackId worker;
};

class JobTrace {
 public:
  JobTrace() {
    trace.run.job.command = {"torchrun", "train.py"};
    trainer_ = trace.Stage("trainer", "trainer");
  }

  TrainerProcess Train(uint64_t pid, uint32_t line = 12) {
    TrainerProcess made;
    made.process = trace.Process("train.py", pid);
    made.loader = trace.Loader({.process = made.process,
                                .kind = "torch.utils.data.DataLoader",
                                .dataset = "Images",
                                .file = "/train.py",
                                .line = line,
                                .settings_json = R"({"num_workers":1})"});
    trace.loader = made.loader;
    made.fetch = trace.Stage("fetch", "map", 1);
    made.queue = trace.Queue("loader", 2, trace.Stage("loader", "prefetch", 1, {made.fetch}));
    trace.loader = {};
    made.main = trace.Thread("main", trainer_, made.process);
    made.worker = trace.Thread("main", made.fetch, trace.Process("worker 0", pid + 1, pid));
    return made;
  }

  void Step(const TrainerProcess& of, uint64_t index, int64_t requested_ns, int64_t done_ns) {
    Step(of.main, of.loader, index, requested_ns, done_ns);
  }
  void Step(TrackId main, LoaderId loader, uint64_t index, int64_t requested_ns, int64_t done_ns) {
    trace::Step step;
    step.index = index;
    step.requested_ns = requested_ns;
    step.received_ns = step.issued_ns = requested_ns + 1'000;
    step.device_done_ns = done_ns;
    step.batch = ItemId{uint64_t{loader.value} << 48U | index};
    step.track = main;
    step.samples = 4;
    trace.rows().Add(step);
  }
  model::Run Loaded() {
    trace.Seal(1'000'000);
    return LoadedRun(trace);
  }

  TraceBuilder trace;

 private:
  StageId trainer_;
};

// Two processes, each with three steps of 10 us, the second 4 us behind the first.
model::Run TwoRanks() {
  JobTrace job;
  const TrainerProcess a = job.Train(100);
  const TrainerProcess b = job.Train(200);
  for (int64_t i = 0; i < 3; ++i) {
    job.Step(a, static_cast<uint64_t>(i), 10'000 * i + 10'000, 10'000 * i + 20'000);
    job.Step(b, static_cast<uint64_t>(i), 10'000 * i + 14'000, 10'000 * i + 24'000);
  }
  job.trace.Work(b.worker, b.fetch, 11'000, 13'000, ItemId{uint64_t{1} << 48U});
  return job.Loaded();
}

std::vector<int64_t> Lengths(const model::Run& run) {
  std::vector<int64_t> lengths;
  for (const auto& step : model::StepIntervals(run)) {
    lengths.push_back(step.end_ns - step.start_ns);
  }
  return lengths;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("two processes that train at the same time are two ranks") {
    const model::Run run = TwoRanks();
    CHECK(run.step_ranks == std::vector<uint32_t>{0, 1, 0, 1, 0, 1});
    CHECK(Lengths(run) == std::vector<int64_t>(6, 10'000));
    CHECK(run.info.world_size == 2);
    REQUIRE(run.tracks.size() == 4);
    CHECK(run.tracks[0].rank == 0);
    CHECK(run.tracks[2].rank == 1);
    CHECK(run.tracks[3].rank == 1);  // of a worker

    // One pipeline, as of traces that are merged.
    REQUIRE(run.stages.size() == 3);
    CHECK(run.stages[0].name == "trainer");
    CHECK(run.stages[0].workers == 2);
    CHECK(run.stages[1].name == "fetch");
    CHECK(run.stages[1].workers == 2);
    CHECK(run.tracks[3].info.stage == run.stages[1].id);
    CHECK(run.ClassOf(run.tracks[3], 0).stage == run.stages[1].id);
    CHECK(run.queues[1].producer == run.stages[2].id);
    CHECK(run.queues[1].rank == 1);
    REQUIRE(run.loaders.size() == 2);
    CHECK(run.loaders[0].name == "loader");
    CHECK(run.loaders[1].name == "rank 1: loader");
    CHECK(run.loaders[1].steps == 3);
    const auto spec = model::JobSpecOf(run);
    REQUIRE(spec.has_value());
    CHECK(spec->stages.size() == 1);
    CHECK(model::LoaderOf(run, run.stages[1].id, run.processes[3].id) == LoaderId{1});
    CHECK(model::LoaderOf(run, run.stages[1].id, run.processes[1].id) == LoaderId{0});
  }

  TEST_CASE("one of a job's ranks is a run of its own") {
    const model::Run run = TwoRanks();
    const auto first = model::RunOfRank(run, 0);
    const auto second = model::RunOfRank(run, 1);
    REQUIRE(first.has_value());
    REQUIRE(second.has_value());
    CHECK(first->rows.steps.size() == 3);
    CHECK(second->rows.steps.size() == 3);
    CHECK(second->step_ranks.empty());
    CHECK(second->RankOfStep(0) == 1);
    CHECK(second->rows.steps[0].requested_ns == run.rows.steps[1].requested_ns);
    CHECK(first->tracks[3].spans.size() == 0);
    CHECK(second->tracks[3].spans.size() == 1);
    // The loader that stands for both is that of the rank.
    CHECK(first->loaders[0].info.process == run.loaders[0].info.process);
    CHECK(second->loaders[0].name == "loader");
    CHECK(second->loaders[0].info.process == run.loaders[1].info.process);
    CHECK(second->loaders[0].steps == 3);
    CHECK(second->loaders[1].steps == 0);
    CHECK(model::LoaderOf(*second, run.stages[1].id, run.processes[3].id) == LoaderId{0});
    CHECK(model::JobSpecOf(*second) == model::JobSpecOf(run));

    // Of two recordings, each is a run already.
    auto merged = model::MergeRanks({TwoRanks(), TwoRanks()});
    REQUIRE(merged.ok());
    CHECK(merged.value().ranks_of_host == 4);
    CHECK_FALSE(model::RunOfRank(merged.value(), 1).has_value());
  }

  TEST_CASE("ranks have their launcher's numbers, if it told each of another one") {
    const auto ranks = [](std::optional<uint32_t> first, std::optional<uint32_t> second) {
      JobTrace job;
      const TrainerProcess a = job.Train(100);
      const TrainerProcess b = job.Train(200);
      if (first) job.trace.Rank(a.process, *first);
      if (second) job.trace.Rank(b.process, *second);
      job.Step(a, 0, 10'000, 20'000);
      job.Step(b, 0, 12'000, 22'000);
      const model::Run run = job.Loaded();
      return std::vector{run.tracks[a.main.value].rank, run.tracks[b.main.value].rank};
    };
    CHECK(ranks({}, {}) == std::vector<uint32_t>{0, 1});
    CHECK(ranks(1, 0) == std::vector<uint32_t>{1, 0});
    CHECK(ranks(7, 4) == std::vector<uint32_t>{1, 0});  // of another machine's
    CHECK(ranks(1, 1) == std::vector<uint32_t>{0, 1});
    CHECK(ranks(1, {}) == std::vector<uint32_t>{0, 1});
  }

  TEST_CASE("a rank's own recording knows how many others its host has") {
    const auto alone = [](uint32_t of_host) {
      JobTrace job;
      const TrainerProcess trainer = job.Train(100);
      job.trace.Rank(trainer.process, 1, of_host);
      job.Step(trainer, 0, 10'000, 20'000);
      return job.Loaded();
    };
    CHECK(alone(0).ranks_of_host == 0);
    CHECK(alone(1).ranks_of_host == 0);
    CHECK(alone(4).ranks_of_host == 4);
    const auto merged = model::MergeRanks({alone(4), alone(4)});  // two of them are not here
    REQUIRE(merged.ok());
    CHECK(merged.value().ranks_of_host == 4);

    JobTrace job;  // torchrun's are all in one recording
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const TrainerProcess trainer = job.Train(100 * (rank + 1));
      job.trace.Rank(trainer.process, rank, 2);
      job.Step(trainer, 0, 10'000 + rank, 20'000);
    }
    CHECK(job.Loaded().ranks_of_host == 0);
  }

  TEST_CASE("traces of ranks have their launcher's numbers, in whatever order they are given") {
    const auto ranks = [](const std::vector<std::optional<uint32_t>>& stated) {
      std::vector<model::Run> runs;
      for (size_t i = 0; i < stated.size(); ++i) {
        JobTrace job;
        const TrainerProcess trainer = job.Train(100 * (i + 1));
        if (stated[i]) job.trace.Rank(trainer.process, *stated[i]);
        for (uint64_t step = 0; step <= i; ++step) {
          const auto at = static_cast<int64_t>(10'000 * step);
          job.Step(trainer, step, at + 10'000, at + 20'000);
        }
        runs.push_back(job.Loaded());
      }
      const auto merged = model::MergeRanks(std::move(runs));
      REQUIRE(merged.ok());
      std::map<uint32_t, size_t> steps;
      for (const uint32_t rank : merged.value().step_ranks) ++steps[rank];
      return steps;
    };
    CHECK(ranks({10, 2}) == std::map<uint32_t, size_t>{{2, 2}, {10, 1}});
    CHECK(ranks({2, 2}) == std::map<uint32_t, size_t>{{0, 1}, {1, 2}});
    CHECK(ranks({5, {}}) == std::map<uint32_t, size_t>{{0, 1}, {1, 2}});
  }

  TEST_CASE("two threads of a process that train at the same time are two ranks") {
    JobTrace job;
    const TrainerProcess a = job.Train(100, 12);
    const LoaderId other = job.trace.Loader(
        {.process = a.process, .kind = "DataLoader", .file = "/train.py", .line = 20});
    const TrackId thread = job.trace.Thread("thread", StageId{0}, a.process);
    // The process counts the steps of all its threads.
    for (int64_t i = 0; i < 3; ++i) {
      const auto index = static_cast<uint64_t>(2 * i);
      job.Step(a, index, 10'000 * i + 10'000, 10'000 * i + 20'000);
      job.Step(thread, other, index + 1, 10'000 * i + 14'000, 10'000 * i + 24'000);
    }
    const model::Run run = job.Loaded();
    CHECK(run.step_ranks == std::vector<uint32_t>{0, 1, 0, 1, 0, 1});
    CHECK(Lengths(run) == std::vector<int64_t>(6, 10'000));
    CHECK(run.tracks[thread.value].rank == 1);
    CHECK(run.loaders[1].rank == 1);
    CHECK_FALSE(run.loaders[1].same_as.known());  // constructed elsewhere
    CHECK(run.loaders[1].name == "loader2");
  }

  TEST_CASE("processes that train one after another are one rank, and their steps one sequence") {
    JobTrace job;
    const TrainerProcess a = job.Train(100);
    const TrainerProcess b = job.Train(200);
    for (uint64_t i = 0; i < 2; ++i) {
      const auto at = static_cast<int64_t>(10'000 * i);
      job.Step(a, i, at + 10'000, at + 20'000);
      job.Step(b, i, at + 510'000, at + 520'000);
    }
    const model::Run run = job.Loaded();
    CHECK(run.step_ranks.empty());
    // The first one's last step ends with it, not with the other's first request.
    CHECK(Lengths(run) == std::vector<int64_t>(4, 10'000));
    CHECK(run.rows.steps[3].index == 3);
    CHECK(run.stages[1].workers == 1);
    CHECK(run.loaders[1].name == "loader of process 200");
    CHECK(run.loaders[1].rank == 0);
  }

  TEST_CASE("one trainer's run stays as it is") {
    JobTrace job;
    const TrainerProcess a = job.Train(100);
    job.Step(a, 3, 10'000, 20'000);
    job.Step(a, 5, 20'000, 30'000);
    const model::Run run = job.Loaded();
    CHECK(run.step_ranks.empty());
    CHECK(run.rows.steps[1].index == 5);
    CHECK(run.info.world_size == 0);
    CHECK(run.stages.size() == 3);
  }

  TEST_CASE("loaders of one place are told apart by settings, and by how many there were before") {
    JobTrace job;
    const TrainerProcess a = job.Train(100);
    job.trace.Loader({.process = a.process,
                      .kind = "torch.utils.data.DataLoader",
                      .dataset = "Images",
                      .file = "/train.py",
                      .line = 12,
                      .settings_json = R"({"num_workers":1})"});
    const TrainerProcess b = job.Train(200);
    job.trace.Loader({.process = b.process,
                      .kind = "torch.utils.data.DataLoader",
                      .dataset = "Images",
                      .file = "/train.py",
                      .line = 12,
                      .settings_json = R"({"num_workers":2})"});
    job.trace.Loader({.process = b.process,
                      .kind = "torch.utils.data.DataLoader",
                      .dataset = "Images",
                      .file = "/train.py",
                      .line = 12,
                      .settings_json = R"({"gradient_accumulation":2,"num_workers":1})"});
    job.Step(a, 0, 10'000, 20'000);
    job.Step(b, 0, 12'000, 22'000);
    const model::Run run = job.Loaded();
    REQUIRE(run.loaders.size() == 5);
    CHECK(run.loaders[2].same_as == LoaderId{0});
    CHECK_FALSE(run.loaders[3].same_as.known());
    CHECK(run.loaders[4].same_as == LoaderId{1});
  }

  TEST_CASE("the lowest rank's loader stands for the others, whichever was recorded first") {
    JobTrace job;
    const TrainerProcess a = job.Train(100);
    const TrainerProcess b = job.Train(200);
    const auto evaluates = [&](const TrainerProcess& trainer) {
      job.trace.Loader({.process = trainer.process,
                        .kind = "torch.utils.data.DataLoader",
                        .dataset = "Images",
                        .file = "/train.py",
                        .line = 12});
    };
    evaluates(b);
    evaluates(a);
    job.Step(a, 0, 10'000, 20'000);
    job.Step(b, 0, 12'000, 22'000);
    const model::Run run = job.Loaded();
    REQUIRE(run.loaders.size() == 4);
    CHECK(run.loaders[2].same_as == LoaderId{3});
    CHECK(run.loaders[2].name == "rank 1: loader2");
    CHECK(run.loaders[3].name == "loader2");
  }

  TEST_CASE("a trace with several trainers can be read, changed and saved") {
    JobTrace job;
    const TrainerProcess a = job.Train(100);
    const TrainerProcess b = job.Train(200);
    job.Step(a, 0, 10'000, 20'000);
    job.Step(b, 0, 12'000, 22'000);
    job.trace.Seal(1'000'000);
    const test::ScratchDir dir;
    job.trace.Write(dir / "run.sst");
    const auto raw = model::LoadToSave(dir / "run.sst");
    REQUIRE(raw.ok());
    CHECK(raw.value().step_ranks.empty());
    CHECK(raw.value().stages.size() == 5);
    REQUIRE(model::SaveTrace(raw.value(), dir / "again.sst").ok());
    const auto again = model::LoadTrace(dir / "again.sst");
    REQUIRE(again.ok());
    CHECK(again.value().step_ranks == std::vector<uint32_t>{0, 1});
    CHECK(again.value().stages.size() == 3);
    CHECK(again.value().queues[1].producer == StageId{2});
  }

  TEST_CASE("traces of several ranks each are merged") {
    std::vector<model::Run> nodes;
    nodes.push_back(TwoRanks());
    nodes.push_back(TwoRanks());
    const auto merged = model::MergeRanks(std::move(nodes));
    REQUIRE(merged.ok());
    const model::Run& run = merged.value();
    CHECK(run.info.world_size == 4);
    CHECK(std::vector<uint32_t>(run.step_ranks.begin(), run.step_ranks.begin() + 4) ==
          std::vector<uint32_t>{0, 1, 2, 3});
    CHECK(Lengths(run) == std::vector<int64_t>(12, 10'000));
    CHECK(run.stages[1].workers == 4);
    REQUIRE(run.loaders.size() == 4);
    CHECK(run.loaders[1].name == "rank 1: loader");
    CHECK(run.loaders[2].name == "rank 2: loader");
    CHECK(run.loaders[3].name == "rank 3: loader");
    CHECK(run.tracks[7].rank == 3);
    CHECK(run.tracks[7].info.name == "rank 3: main");
    // Batches of all loaders have different numbers.
    CHECK(run.tracks[7].spans.item[0] == uint64_t{3} << 48U);
    CHECK(model::LoaderOfBatch(run.rows.steps[3].batch) == 3);
  }
}
