// Re-runs of a user's own job, as a user meets them. The job is small, with the stand-in for torch.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::BuildDir;
using stallscope::test::Has;
using stallscope::test::OneLine;
using stallscope::test::ProgramResult;
using stallscope::test::RunProgram;
using stallscope::test::ScratchDir;
using stallscope::test::SourceDir;

namespace {

// Recorded in a folder of its own, and run again from another one.
struct Recorded {
  ScratchDir job;
  ScratchDir dir;
  std::string trace = job / "run.sst";

  explicit Recorded(const std::string& arguments = "") {
    std::filesystem::copy_file(SourceDir() + "/tests/replay/rerun/small_job.py",
                               job / "small_job.py");
    const ProgramResult done = RunProgram(
        {"sh", "-c",
         "cd " + job.path() + " && " + BuildDir() +
             "/bin/stallscope run --quiet -o run.sst -- python3 small_job.py " + arguments},
        {PythonPath()});
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
  }
  static std::string PythonPath() {
    return "PYTHONPATH=" + SourceDir() + "/tests/collectors/job/python/standin";
  }
  // Of the runs since the file was removed.
  std::vector<int> Pids() const {
    std::ifstream file(job / "pids");
    std::vector<int> pids;
    for (int pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }
  ProgramResult Run(std::vector<std::string> arguments) const {
    return stallscope::test::RunStallscope(std::move(arguments), {PythonPath(), "NO_COLOR=1"});
  }
};

// A sweep that is written again must keep the order of its keys.
nlohmann::ordered_json JsonIn(const std::string& path) {
  return nlohmann::ordered_json::parse(std::ifstream(path), nullptr, false);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("replay --set: one run with another setting, as a trace") {
    const Recorded recorded;
    const std::string out = recorded.dir / "four.sst";
    const ProgramResult refused =
        recorded.Run({"replay", recorded.trace, "--set", "loader.num_workers=2", "-o", out});
    CHECK(refused.exit_code == 2);
    CHECK(OneLine(refused.err));
    CHECK(Has(refused.err, "--yes"));
    CHECK_FALSE(std::filesystem::exists(out));
    const ProgramResult done =
        recorded.Run({"replay", recorded.trace, "--set", "loader.num_workers=2", "--steps", "20",
                      "--yes", "-o", out});
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    CHECK(Has(done.err, "the re-run reads what the command reads"));
    CHECK(Has(done.err, "the re-run runs python3 small_job.py in " + recorded.job.path()));
    CHECK(Has(done.err, "and what the command writes"));
    CHECK(Has(done.out, "measured "));
    CHECK(Has(done.out, "random augmentation"));
    const auto info = nlohmann::json::parse(recorded.Run({"info", out, "--format", "json"}).out);
    CHECK(info["steps"] == 20);
    const auto report =
        nlohmann::json::parse(recorded.Run({"analyze", out, "--format", "json"}).out);
    CHECK(report["run"]["job"]["loaders"][0]["settings"]["num_workers"] == 2);
    // Never onto the input.
    CHECK(recorded
              .Run({"replay", recorded.trace, "--set", "loader.num_workers=2", "--yes", "-o",
                    recorded.trace})
              .exit_code == 2);
  }

  TEST_CASE("replay: a tf.data graph has settings of its own") {
    const ScratchDir dir;
    std::filesystem::copy_file(SourceDir() + "/tests/collectors/job/python/tf_jobs.py",
                               dir / "tf_jobs.py");
    const std::vector<std::string> environment = {Recorded::PythonPath(), "NO_COLOR=1"};
    const std::string trace = dir / "run.sst";
    const ProgramResult recorded = RunProgram(
        {"sh", "-c",
         "cd " + dir.path() + " && " + BuildDir() +
             "/bin/stallscope run --quiet --profile off -o run.sst -- python3 tf_jobs.py loop"},
        environment);
    REQUIRE_MESSAGE(recorded.exit_code == 0, recorded.err);
    const auto vary = [&](const std::string& axis) {
      return stallscope::test::RunStallscope(
          {"replay", trace, "--vary", axis, "--repeats", "1", "--yes", "-o", dir / "sweep.json"},
          environment);
    };
    for (const char* other : {"loader.num_workers=1,2", "loader.num_shards=1,2"}) {
      const ProgramResult refused = vary(other);
      CHECK(refused.exit_code == 2);
      CHECK(OneLine(refused.err));
    }
    const ProgramResult done = vary("loader.prefetch=2,5");
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    const auto sweep = JsonIn(dir / "sweep.json");
    CHECK(sweep["mode"] == "rerun");
    CHECK(Has(sweep["warnings"].dump(), "nothing is predicted: "));
    REQUIRE(sweep["points"].size() == 2);
    for (const auto& point : sweep["points"]) {
      CHECK(point["measured"]["samples_per_s"] > 0);
      CHECK(point["predicted"].is_null());
      CHECK(point["error"].is_null());
    }
  }

  TEST_CASE("replay --vary: a sweep of a job's settings, which goes on where it was stopped") {
    const Recorded recorded;
    const std::string out = recorded.dir / "sweep.json";
    const std::vector<std::string> command = {"replay",    recorded.trace,
                                              "--vary",    "loader.num_workers=0,2",
                                              "--repeats", "1",
                                              "--steps",   "20",
                                              "--yes",     "-o",
                                              out};
    const ProgramResult done = recorded.Run(command);
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    auto sweep = JsonIn(out);
    CHECK(sweep["mode"] == "both");
    CHECK(sweep["base"] == 0);
    REQUIRE(sweep["points"].size() == 2);
    for (const auto& point : sweep["points"]) {
      CHECK(point["measured"]["samples_per_s"] > 0);
      CHECK(point["predicted"]["samples_per_s"] > 0);
      CHECK(point["error"].is_null());
      CHECK(point["runs"][0]["steps"] == 20);
    }
    CHECK(Has(done.out, "random augmentation"));
    // One run is missing: it alone is made.
    std::filesystem::remove(recorded.job / "pids");
    sweep["points"][1]["runs"] = nlohmann::ordered_json::array();
    std::ofstream(out) << sweep.dump();
    std::vector<std::string> resumed = command;
    resumed.emplace_back("--resume");
    const ProgramResult again = recorded.Run(resumed);
    CHECK_MESSAGE(again.exit_code == 0, again.err);
    // A run that other programs disturbed is made once more.
    const size_t made = recorded.Pids().size();
    CHECK((made == 1 || made == 2));
    CHECK(JsonIn(out)["points"][1]["runs"].size() == 1);
  }

  TEST_CASE("replay --verify: the report's change is measured, and shown by analyze") {
    const Recorded recorded;
    const std::string out = recorded.job / "run.sweep.json";
    const ProgramResult done =
        recorded.Run({"replay", recorded.trace, "--verify", "--repeats", "1", "--yes", "-o", out});
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    const auto sweep = JsonIn(out);
    REQUIRE(sweep["points"].size() >= 1);
    CHECK(sweep["points"][0]["patch"][0]["path"] == "loader.num_workers");
    const auto report =
        nlohmann::json::parse(recorded.Run({"analyze", recorded.trace, "--format", "json"}).out);
    bool measured = false;
    for (const auto& finding : report["findings"]) {
      if (!finding.contains("recommendation") || finding["recommendation"].is_null()) continue;
      const auto& recommendation = finding["recommendation"];
      if (recommendation["patch"].empty()) continue;
      CHECK(recommendation["patch"][0]["path"] == "loader.num_workers");
      measured = measured || !recommendation["gain"]["measured"].is_null();
    }
    CHECK(measured);
  }

  TEST_CASE("tune: the best settings of a job, as a command line and a change of its call") {
    const Recorded recorded;
    const std::string kept = recorded.dir / "kept";
    std::filesystem::create_directory(kept);
    const std::vector<std::string> command = {"tune",
                                              recorded.trace,
                                              "--max-runs",
                                              "3",
                                              "--steps",
                                              "30",
                                              "--yes",
                                              "--keep",
                                              kept,
                                              "-o",
                                              recorded.dir / "best.json"};
    const ProgramResult done = recorded.Run(command);
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    CHECK(Has(done.out, "as recorded"));
    CHECK(Has(done.out, "ended "));
    if (Has(done.out, "\nafter ")) {
      CHECK(Has(done.out, "stallscope run --set loader.num_workers="));
      CHECK(Has(done.out, "small_job.py:"));
      CHECK(Has(done.out, "\n--- a/small_job.py\n+++ b/small_job.py\n@@ -27,7 +27,7 @@\n"));
      CHECK(Has(done.out, "\n+    loader = DataLoader(Slow(), batch_size=4, num_workers="));
      CHECK(JsonIn(recorded.dir / "best.json")[0]["op"] == "set");
    }
    // Started again, it has its runs.
    std::filesystem::remove(recorded.job / "pids");
    const ProgramResult again = recorded.Run(command);
    REQUIRE_MESSAGE(again.exit_code == 0, again.err);
    std::istringstream words(again.out);  // as it was wrapped
    std::string text;
    for (std::string word; words >> word;) text += word + " ";
    CHECK(Has(text, "kept from before"));
    CHECK_FALSE(std::filesystem::exists(recorded.job / "pids"));
  }

  TEST_CASE("other settings of a job are predicted without running it") {
    const Recorded recorded;
    const std::string out = recorded.dir / "s.json";
    std::filesystem::remove(recorded.job / "pids");
    const ProgramResult done =
        recorded.Run({"replay", recorded.trace, "--vary", "loader.num_workers=0,4", "--mode",
                      "simulate", "-o", out});
    REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    CHECK_FALSE(std::filesystem::exists(recorded.job / "pids"));
    const auto points = JsonIn(out)["points"];
    // Recorded without workers: what they cost is a range, and said so.
    CHECK(points[0]["predicted"]["samples_per_s"].get<double>() > 0);
    CHECK(points[1]["predicted"]["high"].get<double>() >
          1.3 * points[1]["predicted"]["low"].get<double>());
    CHECK(Has(done.out, "handing batches over from workers was not recorded"));
  }

  TEST_CASE("a job that cannot be run again is said in one line") {
    const Recorded recorded("--api-key 123456789");
    const auto refused = [&](std::vector<std::string> more, int exit_code, const char* what) {
      CAPTURE(what);
      std::vector<std::string> arguments{"replay", recorded.trace, "-o", recorded.dir / "x.json"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const ProgramResult done = recorded.Run(arguments);
      CHECK(done.exit_code == exit_code);
      CHECK(OneLine(done.err));
      CHECK_MESSAGE(Has(done.err, what), done.err);
    };
    const std::string vary = "loader.num_workers=0,2";
    refused({"--vary", vary, "--yes"}, 3, "secret");
    refused({"--vary", "loader.workers=1,2", "--yes"}, 3, "secret");
    refused({"--vary", vary, "--emulate"}, 2, "emulated");
    refused({"--vary", vary, "--throttle", "100"}, 2, "throttled");
    refused({"--set", "loader.num_workers=2", "--verify"}, 2, "cannot be combined");
    refused({"--set", "loader.num_workers=2", "--resume"}, 2, "--set makes one run");
  }

  TEST_CASE("a folder that has moved, a program that is gone, a job that fails") {
    const Recorded recorded;
    const auto run = [&](std::vector<std::string> more) {
      std::vector<std::string> arguments{"replay",
                                         recorded.trace,
                                         "--vary",
                                         "loader.num_workers=0,2",
                                         "--yes",
                                         "--repeats",
                                         "1",
                                         "-o",
                                         recorded.dir / "s.json"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return recorded.Run(arguments);
    };
    const ProgramResult gone = run({"--folder", recorded.dir / "gone"});
    CHECK(gone.exit_code == 3);
    CHECK(OneLine(gone.err));
    CHECK(Has(gone.err, "--folder"));
    const ProgramResult unknown = run({"--vary", "loader.prefetch=1,2"});
    CHECK(unknown.exit_code == 2);
    CHECK(Has(unknown.err, "loader.prefetch_factor"));
    std::ofstream(recorded.job / "fail") << "x";
    const ProgramResult failed = run({});
    CHECK(failed.exit_code == 5);
    CHECK(Has(failed.err, "the job exited 1: no more memory on the moon"));
    // Where it is now, with its loader there.
    const ScratchDir moved;
    std::filesystem::copy_file(recorded.job / "small_job.py", moved / "small_job.py");
    std::filesystem::remove(recorded.dir / "s.json");
    const ProgramResult there = run({"--folder", moved.path()});
    CHECK_MESSAGE(there.exit_code == 0, there.err);
    CHECK(std::filesystem::exists(moved / "pids"));
  }

  TEST_CASE("Ctrl-C ends the job, and keeps what is finished") {
    const Recorded recorded;
    const std::string out = recorded.dir / "s.json";
    std::filesystem::remove(recorded.job / "pids");
    std::ofstream(recorded.job / "hang_again") << "x";
    const pid_t child = fork();
    if (child == 0) {
      const std::string program = BuildDir() + "/bin/stallscope";
      setenv("PYTHONPATH", (SourceDir() + "/tests/collectors/job/python/standin").c_str(), 1);
      std::freopen("/dev/null", "w", stderr);
      execl(program.c_str(), program.c_str(), "replay", recorded.trace.c_str(), "--vary",
            "loader.num_workers=0,1,2", "--yes", "--repeats", "1", "-o", out.c_str(), nullptr);
      _exit(127);
    }
    // The second run waits for ever.
    while (recorded.Pids().size() < 2) usleep(10'000);
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    const auto sweep = JsonIn(out);
    CHECK(sweep["complete"] == false);
    CHECK(sweep["points"][0]["runs"].size() == 1);
    for (const int pid : recorded.Pids()) CHECK(kill(pid, 0) != 0);
  }
}
