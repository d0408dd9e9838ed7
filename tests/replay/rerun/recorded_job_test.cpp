#include "replay/rerun/recorded_job.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "analyzer/base/units.h"
#include "analyzer/model/loader.h"
#include "analyzer/spec/knobs.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/rerun/rerun.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using replay::JobPlan;

namespace {

// A job of 300 steps of 100 ms in epochs of `pass`, whose loader has two workers.
model::Run JobRun(uint64_t pass = 1'000'000) {
  model::Run run;
  run.path = "run.sst";
  run.info.name = "train.py";
  run.info.folder = "/home/user/job";
  run.info.job.command = {"python", "train.py"};
  model::Loader loader;
  loader.name = "loader";
  loader.info.file = "/home/user/job/train.py";
  loader.info.line = 12;
  loader.info.settings_json =
      R"({"num_workers": 2, "batch_size": 16, "multiprocessing_context": "fork"})";
  run.loaders = {loader};
  for (uint64_t i = 0; i < 300; ++i) {
    trace::Step step;
    step.index = i;
    step.requested_ns = static_cast<int64_t>(i) * 100 * kNsPerMs;
    step.received_ns = step.requested_ns + kNsPerMs;
    step.batch = ItemId{((i / pass) << 32U) + i % pass};
    run.rows.steps.push_back(step);
  }
  return run;
}

JobPlan PlanOf(const model::Run& run, const std::string& folder = "/home/user/job") {
  const auto spec = replay::RecordedJob(run);
  REQUIRE(spec.has_value());
  return replay::PlanJob(run, *spec, folder);
}

Spec With(const JobPlan& job, const std::vector<std::string>& settings) {
  auto spec = ApplySettings(job.recorded, settings);
  REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
  return std::move(spec).value();
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The small job, recorded once in a folder of its own.
struct SmallJob {
  test::ScratchDir dir;
  test::ScratchDir scratch;
  model::Run run;

  SmallJob() {
    const std::string source = test::SourceDir() + "/tests/";
    setenv("PYTHONPATH", (source + "collectors/job/python/standin").c_str(), 1);
    std::filesystem::copy_file(source + "replay/rerun/small_job.py", dir / "small_job.py");
    const auto done =
        test::RunProgram({"sh", "-c",
                          "cd " + dir.path() + " && " + test::BuildDir() +
                              "/bin/stallscope run --quiet -o run.sst -- python3 small_job.py"});
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    auto loaded = model::LoadTrace(dir / "run.sst");
    REQUIRE(loaded.ok());
    run = std::move(loaded).value();
  }

  replay::RerunOptions Options() const {
    replay::RerunOptions options;
    options.program = test::BuildDir() + "/bin/stallscope";
    options.scratch = scratch.path();
    options.job = PlanOf(run, run.info.folder);
    return options;
  }
  void Touch(const std::string& name) const { std::ofstream(dir / name) << "x"; }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(dir / name).rdbuf();
    return text.str();
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a re-run has enough steps for an interval, and whole epochs where they are short") {
    CHECK(replay::RecordedJob(JobRun())->job.steps == 151);
    CHECK(replay::RecordedJob(JobRun(20))->job.steps == 160);
    model::Run quick = JobRun();
    for (trace::Step& step : quick.rows.steps) step.received_ns = step.requested_ns /= 1000;
    CHECK(replay::RecordedJob(quick)->job.steps == 300);
    quick.rows.steps.resize(40);
    CHECK(replay::RecordedJob(quick)->job.steps == 40);
    CHECK_FALSE(replay::RecordedJob(model::Run()).has_value());
    // Each rank ends behind its own steps.
    model::Run ranks = JobRun();
    const std::vector<trace::Step> steps = std::exchange(ranks.rows.steps, {});
    for (const trace::Step& step : steps) {
      for (const uint32_t rank : {0U, 1U}) {
        ranks.rows.steps.push_back(step);
        ranks.step_ranks.push_back(rank);
      }
    }
    CHECK(replay::RecordedJob(ranks)->job.steps == 151);
  }

  TEST_CASE("only what differs is set, where the loader is constructed") {
    const JobPlan job = PlanOf(JobRun());
    CHECK(Joined(RunArguments(job, job.recorded).value()) == "--steps=151");
    const Spec spec = With(job, {"loader.num_workers=4", "loader.pin_memory=true", "job.threads=1",
                                 "env.A=b c", "job.steps=7"});
    const auto arguments = RunArguments(job, spec);
    REQUIRE(arguments.ok());
    CHECK(Joined(arguments.value()) ==
          "--steps=7 --set=loader.num_workers=4 --at=loader=/home/user/job/train.py:12 "
          "--set=loader.pin_memory=true --set=job.threads=1 --set=env.A=b c");
    // The job has moved.
    const JobPlan moved = PlanOf(JobRun(), "/mnt/job");
    CHECK(moved.loaders[0].file == "/mnt/job/train.py");
    CHECK(moved.folder == "/mnt/job");
  }

  TEST_CASE("a setting that cannot be made is wrong usage") {
    JobPlan job = PlanOf(JobRun());
    const auto refused = [&](const std::string& setting) {
      const auto arguments = RunArguments(job, With(job, {setting}));
      return !arguments.ok() && arguments.error().kind == ErrorKind::kUsage;
    };
    CHECK(refused("loader.multiprocessing_context=inherited"));
    CHECK(refused("loader.batch_size=0"));
    CHECK_FALSE(refused("loader.num_workers=0"));
    job.loaders[0].line = 0;
    CHECK(refused("loader.num_workers=4"));
  }

  TEST_CASE("a re-run needs consent, and says what it reads, runs and writes") {
    const model::Run run = JobRun();
    const auto plan = replay::PlanRerun(run, *replay::RecordedJob(run), "");
    CHECK(plan.NeedsYes());
    const std::string lines = Joined(plan.Lines("out.json"));
    CHECK(lines.find("runs python train.py in /home/user/job, up to 151 steps") !=
          std::string::npos);
    CHECK(lines.find("writes out.json and what the command writes") != std::string::npos);
  }

  TEST_CASE("what was masked cannot be run again") {
    model::Run run = JobRun();
    CHECK(CheckCommand(PlanOf(run)).ok());
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--api-key", "***"}, {"--token=***"}, {"https://me:***@host"}}) {
      run.info.job.command = {"python", "train.py"};
      run.info.job.command.insert(run.info.job.command.end(), more.begin(), more.end());
      const auto refused = CheckCommand(PlanOf(run));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kInput);
      CHECK(refused.error().Line().find("secret") != std::string::npos);
    }
  }

  TEST_CASE("a program that came from standard input cannot be run again") {
    model::Run run = JobRun();
    const auto check = [&](const std::vector<std::string>& command) {
      run.info.job.command = command;
      return CheckCommand(PlanOf(run));
    };
    const auto refused = check({"python", "-u", "-", "--epochs", "2"});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kInput);
    CHECK(refused.error().Line().find("standard input") != std::string::npos);
    CHECK(check({"python", "-u", "train.py", "-"}).ok());
  }

  TEST_CASE("a folder or a program that is gone is an input that is missing") {
    model::Run run = JobRun();
    const auto error_of = [&](const std::string& folder) {
      const auto there = CheckJobIsThere(PlanOf(run, folder));
      return there.ok() ? "" : there.error().Line();
    };
    const test::ScratchDir dir;
    run.info.job.command = {"sh", "x"};
    CHECK(error_of(dir.path()) == "");
    CHECK(error_of(dir / "gone").find("--folder") != std::string::npos);
    run.info.job.command = {"./train"};
    CHECK(error_of(dir.path()).find("./train") != std::string::npos);
    std::ofstream(dir / "train") << "#!/bin/sh\n";
    CHECK(error_of(dir.path()) != "");
    std::filesystem::permissions(dir / "train", std::filesystem::perms::owner_all);
    CHECK(error_of(dir.path()) == "");
    run.info.job.command = {"no-such-program"};
    CHECK(error_of(dir.path()).find("no-such-program") != std::string::npos);
  }

  TEST_CASE("a setting that did not arrive is an error") {
    const model::Run run = JobRun();
    const JobPlan job = PlanOf(run);
    CHECK(CheckSettings(job, job.recorded, run).ok());
    const Spec spec = With(job, {"loader.num_workers=4"});
    model::Run after = run;
    CHECK_FALSE(CheckSettings(job, spec, after).ok());
    after.info.warnings = {"num_workers was not changed: because"};
    CHECK(CheckSettings(job, spec, after).error().Line().find("because") != std::string::npos);
    after.loaders[0].info.settings_json = R"({"num_workers": 4})";
    after.loaders[0].name = "loader2";
    CHECK(CheckSettings(job, spec, after).ok());
    after.loaders[0].info.line = 13;
    CHECK(CheckSettings(job, spec, after).error().Line().find("no loader") != std::string::npos);
    // Without workers there is nothing that works ahead.
    CHECK(CheckSettings(job, With(job, {"loader.num_workers=0", "loader.prefetch_factor=8"}),
                        [&] {
                          model::Run none = run;
                          none.loaders[0].info.settings_json = R"({"num_workers": 0})";
                          return none;
                        }())
              .ok());
  }

  TEST_CASE("settings of a loader of another library are set and checked like any other") {
    model::Run run = JobRun();
    run.loaders[0].info.kind = "tf.data.Dataset";
    run.loaders[0].info.settings_json = R"({"num_parallel_calls": null, "prefetch": 2})";
    const JobPlan job = PlanOf(run);
    const Spec spec = With(job, {"loader.num_parallel_calls=4", "loader.prefetch=8"});
    CHECK(Joined(RunArguments(job, spec).value()) ==
          "--steps=151 --set=loader.num_parallel_calls=4 --at=loader=/home/user/job/train.py:12 "
          "--set=loader.prefetch=8");
    CHECK_FALSE(RunArguments(job, With(job, {"loader.prefetch=0"})).ok());
    model::Run after = run;
    after.loaders[0].info.settings_json = R"({"num_parallel_calls": 4, "prefetch": 8})";
    CHECK(CheckSettings(job, spec, after).ok());
    after.loaders[0].info.settings_json = R"({"num_parallel_calls": 2, "prefetch": 8})";
    after.info.warnings = {"num_parallel_calls is 2 in an interleave"};
    const Status differs = CheckSettings(job, spec, after);
    REQUIRE_FALSE(differs.ok());
    CHECK(differs.error().Line().find("is 2 in an interleave") != std::string::npos);
  }

  TEST_CASE("a setting that calls of the job take is for those lines alone") {
    model::Run run = JobRun();
    trace::LoaderInfo& info = run.loaders[0].info;
    info.kind = "tf.data.Dataset";
    info.settings_json = R"({"num_parallel_calls": 2, "prefetch": 2, "graph": [
        {"op": "Range", "line": 5}, {"op": "ParallelMapV2", "line": 6}, {"op": "Map"},
        {"op": "Interleave", "line": 7}, {"op": "Map", "line": 6}, {"op": "Prefetch", "line": 8},
        {"op": "ParallelMap", "elsewhere": "data.py:4"}]})";
    const JobPlan graph = PlanOf(run, "/mnt/job");
    CHECK(Joined(RunArguments(graph, With(graph, {"loader.num_parallel_calls=4"})).value()) ==
          "--steps=151 --set=loader.num_parallel_calls=4 "
          "--at=loader.num_parallel_calls=/mnt/job/train.py:6 "
          "--at=loader.num_parallel_calls=/mnt/job/train.py:7 "
          "--at=loader.num_parallel_calls=data.py:4 --at=loader=/mnt/job/train.py:12");
    CHECK(Joined(RunArguments(graph, With(graph, {"loader.prefetch=4"})).value()) ==
          "--steps=151 --set=loader.prefetch=4 --at=loader=/mnt/job/train.py:12");
    // Of another file the trace has only the name.
    info.kind = "torch.utils.data.DataLoader";
    for (const auto& [at, place] : {std::pair("train.py:3", "/home/user/job/train.py:3"),
                                    std::pair("data.py:7", "data.py:7")}) {
      info.settings_json =
          R"({"num_workers": 2, "num_shards": 1, "num_shards_at": ")" + std::string(at) + R"("})";
      const JobPlan stream = PlanOf(run);
      CHECK(Joined(RunArguments(stream, With(stream, {"loader.num_shards=2"})).value()) ==
            "--steps=151 --set=loader.num_shards=2 --at=loader.num_shards=" + std::string(place) +
                " --at=loader=/home/user/job/train.py:12");
    }
    info.kind = "grain._src.python.dataset.transformations.batch._BatchDatasetIterator";
    info.settings_json = R"({"num_workers": 2, "num_workers_at": "train.py:3", "threads": 2,
        "threads_at": "data.py:7", "prefetch": 4, "prefetch_at": "data.py:7"})";
    const JobPlan options = PlanOf(run);
    CHECK(
        Joined(RunArguments(options, With(options, {"loader.num_workers=4", "loader.threads=3"}))
                   .value()) ==
        "--steps=151 --set=loader.num_workers=4 "
        "--at=loader.num_workers=/home/user/job/train.py:3 --at=loader=/home/user/job/train.py:12 "
        "--set=loader.threads=3 --at=loader.threads=data.py:7");
    info.kind = "torchdata.nodes.loader.LoaderIterator";
    info.settings_json = R"({"threads": 2, "num_workers": 0, "threads_at": "train.py:5",
        "num_workers_at": "train.py:5", "mappers": []})";
    const JobPlan mapper = PlanOf(run);
    CHECK(
        Joined(RunArguments(mapper, With(mapper, {"loader.num_workers=3"})).value()) ==
        "--steps=151 --set=loader.num_workers=3 "
        "--at=loader.num_workers=/home/user/job/train.py:5 --at=loader=/home/user/job/train.py:12");
    info.settings_json = R"({"num_workers": 2, "num_shards": 1, "num_shards_at": "data.py"})";
    CHECK(PlanOf(run).loaders[0].calls.empty());
  }

  TEST_CASE("a job is run again with other settings, for a number of steps") {
    const SmallJob job;
    replay::RerunOptions options = job.Options();
    options.keep = job.dir / "again.sst";
    const Spec spec = With(*options.job, {"loader.num_workers=2", "job.steps=30", "job.threads=1"});
    const auto rerun = replay::RunSpec(spec, options);
    REQUIRE_MESSAGE(rerun.ok(), rerun.error().Line());
    CHECK(rerun.value().run.rows.steps.size() == 30);
    REQUIRE(rerun.value().run.loaders.size() == 1);
    CHECK(rerun.value().run.loaders[0].info.settings_json.find(R"("num_workers":2)") !=
          std::string::npos);
    CHECK(model::LoadTrace(options.keep).ok());
    // A TMPDIR of its own, which is gone.
    const std::string seen = job.Text("environment");
    CHECK(seen.find(job.scratch.path()) == 0);
    CHECK(seen.find(" 1\n") != std::string::npos);
    CHECK(std::filesystem::is_empty(job.scratch.path()));
  }

  TEST_CASE("a job that fails says what it said") {
    const SmallJob job;
    job.Touch("fail");
    const auto rerun = replay::RunSpec(job.Options().job->recorded, job.Options());
    REQUIRE_FALSE(rerun.ok());
    CHECK(rerun.error().kind == ErrorKind::kRun);
    CHECK(rerun.error().Line() == "the job exited 1: no more memory on the moon");
  }

  TEST_CASE("a job that never steps is ended, and so is one that is stopped") {
    const SmallJob job;
    job.Touch("hang");
    std::filesystem::remove(job.dir / "pids");
    replay::RerunOptions options = job.Options();
    bool stopped = false;
    SUBCASE("its time is up") { options.job->longest_ns = kNsPerSecond; }
    SUBCASE("Ctrl-C") {
      stopped = true;
      options.stop_requested = [&] { return std::filesystem::exists(job.dir / "pids"); };
    }
    const auto rerun = replay::RunSpec(options.job->recorded, options);
    REQUIRE(rerun.ok() == stopped);
    if (stopped) CHECK(rerun.value().stopped);
    if (!stopped) CHECK(rerun.error().Line().find("60 steps within 1 s") != std::string::npos);
    const std::string pids = job.Text("pids");
    if (!pids.empty()) CHECK(kill(std::stoi(pids), 0) != 0);
  }

  TEST_CASE("a job whose loader has moved in its file does not count as changed") {
    const SmallJob job;
    std::string text = job.Text("small_job.py");
    text.insert(text.find("    loader = "), "\n");
    std::ofstream(job.dir / "small_job.py") << text;
    const replay::RerunOptions options = job.Options();
    const auto rerun = replay::RunSpec(With(*options.job, {"loader.num_workers=1"}), options);
    REQUIRE_FALSE(rerun.ok());
    CHECK(rerun.error().Line().find("no loader is constructed there any more") !=
          std::string::npos);
  }
}
