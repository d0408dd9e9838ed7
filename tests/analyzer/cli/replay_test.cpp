// `stallscope replay` and `tune` as a user runs them.
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
#include "tests/support/skip.h"

using namespace stallscope;
using test::ProgramResult;
using test::RunStallscope;
using test::ScratchDir;

namespace {

constexpr const char* kSpec = R"~({"name": "small", "seed": 3, "stages": [
  {"name": "read", "source": {"format": "synthetic", "elements": 100000, "bytes": 96}},
  {"name": "work", "map": {"ops": ["sleep(300)"], "parallelism": 1}},
  {"name": "batch", "batch": {"size": 4, "drop_remainder": true}},
  {"name": "ready", "prefetch": {"buffer_size": 2}}],
  "trainer": {"device": "emulated", "steps": 40, "emulated": {"compute_us_per_batch": 300}}})~";

constexpr const char* kFiles = R"~({"name": "files", "stages": [
  {"name": "read", "source": {"format": "tfrecord", "files": ["%F"]}},
  {"name": "again", "repeat": {}},
  {"name": "work", "map": {"ops": ["decode_jpeg", "sleep(200)"]}},
  {"name": "batch", "batch": {"size": 2}}],
  "trainer": {"device": "emulated", "steps": 30}})~";

// Sleeps so long that another test's share of the cores does not decide which setting is faster.
constexpr const char* kSleepy = R"~({"name": "sleepy", "seed": 3, "stages": [
  {"name": "read", "source": {"format": "synthetic", "elements": 100000, "bytes": 96}},
  {"name": "work", "map": {"ops": ["sleep(3000)"], "parallelism": 1}},
  {"name": "batch", "batch": {"size": 4, "drop_remainder": true}},
  {"name": "ready", "prefetch": {"buffer_size": 2}}],
  "trainer": {"device": "emulated", "steps": 40, "emulated": {"compute_us_per_batch": 3000}}})~";

constexpr const char* kBadPatch = R"~([{"op": "set", "path": "no.such", "value": 4}])~";
constexpr const char* kFailingPatch =
    R"~([{"op": "set", "path": "work.ops", "value": ["one_hot(3)"]}])~";

// Records once in each folder.
std::string Recorded(const ScratchDir& dir, const std::string& spec = kSpec) {
  std::ofstream(dir / "spec.json") << spec;
  const ProgramResult run =
      RunStallscope({"record", dir / "spec.json", "-o", dir / "run.sst", "--quiet"});
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  return dir / "run.sst";
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json ReadJson(const std::string& path) { return nlohmann::json::parse(ReadText(path)); }

void CheckSweepFails(const ProgramResult& run, int exit_code, const std::string& says) {
  CAPTURE(says);
  CAPTURE(run.err);
  CHECK(run.exit_code == exit_code);
  CHECK(run.err.find(says) != std::string::npos);
  // In one line, and the last one.
  CHECK(run.err.rfind("stallscope: ", run.err.find(says)) ==
        run.err.rfind('\n', run.err.size() - 2) + 1);
}

// The program in the background, its output thrown away.
pid_t Start(std::vector<std::string> words) {
  words.insert(words.begin(), test::BuildDir() + "/bin/stallscope");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  if (freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
  if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  execv(argv[0], argv.data());
  _exit(127);
}

size_t CountIn(const std::string& path, const std::string& word) {
  const std::string text = std::filesystem::exists(path) ? ReadText(path) : "";
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

std::vector<std::string> Simulate(const std::string& trace, const std::string& sweep) {
  return {"replay",   trace,
          "--vary",   "work.parallelism=1,2,3,4,5,6,7,8",
          "--vary",   "ready.buffer_size=1,2,3,4,5,6,7,8",
          "--vary",   "trainer.steps=100,101,102,103",
          "--mode",   "simulate",
          "--resume", "-o",
          sweep};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("replay predicts, runs, compares and writes the result") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    const ProgramResult run =
        RunStallscope({"replay", trace, "--vary", "work.parallelism=1,4", "--repeats", "2",
                       "--report", dir / "s.html", "--report", dir / "s.md", "-o", dir / "s.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    for (const char* word : {"predicted", "measured", "work.parallelism=4", "median error"}) {
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    }
    const auto sweep = ReadJson(dir / "s.json");
    CHECK(sweep["schema"] == "stallscope.sweep/1");
    CHECK(sweep["complete"] == true);
    REQUIRE(sweep["points"].size() == 2);
    CHECK(sweep["base"] == 0);
    for (const auto& point : sweep["points"]) {
      CHECK(point["set"].size() == 1);
      CHECK(point["predicted"]["samples_per_s"] > 0);
      CHECK(point["measured"]["low"] <= point["measured"]["samples_per_s"]);
      CHECK(point["measured"]["samples_per_s"] <= point["measured"]["high"]);
      CHECK(point["runs"].size() == 2);
      CHECK(point["memory_bytes"] > 0);
      CHECK(point["digest"] == sweep["points"][0]["digest"]);
      CHECK(point["verdict"].is_string());
      CHECK(point["error"].is_null());
    }
    CHECK(sweep["errors"]["points"] == 2);
    CHECK(ReadText(dir / "s.html").find("<svg") != std::string::npos);
    CHECK(ReadText(dir / "s.md").find("work.parallelism=4") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(dir / "s.json.leases"));
  }

  TEST_CASE("bad grids are wrong usage, with the nearest name") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    const auto check = [&](std::vector<std::string> arguments, const std::string& says) {
      arguments.insert(arguments.begin(), {"replay", trace});
      arguments.insert(arguments.end(), {"-o", dir / "s.json"});
      CheckSweepFails(RunStallscope(arguments), 2, says);
      CHECK_FALSE(std::filesystem::exists(dir / "s.json"));
    };
    check({"--vary", "work.paralelism=1,2"}, "work.parallelism");
    check({"--vary", "work.parallelism=0"}, "work.parallelism");
    check({"--vary", "work.parallelism="}, "empty grid");
    check({}, "--vary");
    check({"--verify", "--vary", "seed=1"}, "--verify");
    check({"--vary", "seed=1", "--report", "table.pdf"}, ".html");
    check({"--vary", "seed=1", "--mode", "guess"}, "--mode");
    std::string thousand = "=0";
    for (int i = 1; i < 1'000; ++i) thousand += "," + std::to_string(i);
    check({"--vary", "seed" + thousand, "--vary", "trainer.steps" + thousand, "--mode", "simulate"},
          "1000000 points");
    std::ofstream(dir / "bad.json") << kBadPatch;
    check({"--patch", dir / "bad.json"}, "no.such");
    CheckSweepFails(
        RunStallscope({"replay", dir / "none.sst", "--vary", "seed=1", "-o", dir / "s.json"}), 3,
        "none.sst");
  }

  TEST_CASE("missing data is an error that offers the emulation, which works") {
    ScratchDir dir;
    REQUIRE(
        RunStallscope({"generate", dir / "data", "--images", "16", "--size", "32x32"}).exit_code ==
        0);
    std::string spec = kFiles;
    spec.replace(spec.find("%F"), 2, dir / "data/*.tfrecord");
    const std::string trace = Recorded(dir, spec);
    std::filesystem::remove_all(dir / "data");
    const std::vector<std::string> replay = {"replay",    trace, "--vary", "work.parallelism=1,2",
                                             "--repeats", "1",   "-o",     dir / "s.json",
                                             "--yes"};
    CheckSweepFails(RunStallscope(replay), 3, "--emulate");
    std::vector<std::string> emulate = replay;
    emulate.emplace_back("--emulate");
    const ProgramResult run = RunStallscope(emulate);
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    CHECK(run.out.find("emulated") != std::string::npos);
    const auto sweep = ReadJson(dir / "s.json");
    CHECK(sweep["emulated"] == true);
    CHECK(sweep["points"][1]["measured"]["samples_per_s"] > 0);
  }

  TEST_CASE("a failing point keeps its error, and the others continue") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    std::ofstream(dir / "bad.json") << kFailingPatch;
    const ProgramResult run = RunStallscope({"replay", trace, "--vary", "work.parallelism=1,2",
                                             "--patch", dir / "bad.json", "--mode", "rerun",
                                             "--repeats", "1", "-o", dir / "s.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    const auto points = ReadJson(dir / "s.json")["points"];
    REQUIRE(points.size() == 3);
    CHECK(points[2]["error"].get<std::string>().find("label") != std::string::npos);
    CHECK(points[2]["measured"].is_null());
    CHECK(points[2].contains("patch"));
    CHECK(points[1]["measured"].is_object());
  }

  TEST_CASE("an unavailable measurement lock fails the sweep, which then resumes") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    std::filesystem::create_directory(dir / "runtime");
    std::filesystem::permissions(dir / "runtime", std::filesystem::perms::owner_all);
    const std::vector<std::string> here = {"XDG_RUNTIME_DIR=" + dir / "runtime"};
    std::vector<std::string> sweep = {"replay", trace,         "--vary",    "work.parallelism=1,2",
                                      "--mode", "rerun",       "--repeats", "1",
                                      "-o",     dir / "s.json"};
    REQUIRE(RunStallscope({"replay", trace, "--vary", "work.parallelism=1", "--mode", "rerun",
                           "--repeats", "1", "-o", dir / "first.json"},
                          here)
                .exit_code == 0);
    const std::string lock = std::filesystem::directory_iterator(dir / "runtime")->path().string();
    std::filesystem::remove(lock);
    std::filesystem::create_directory(lock);
    const ProgramResult failed = RunStallscope(sweep, here);
    CheckSweepFails(failed, 5, "cannot acquire the measurement lock");
    const auto kept = ReadJson(dir / "s.json");
    for (const auto& point : kept["points"]) CHECK(point["error"].is_null());
    std::filesystem::remove(lock);
    sweep.emplace_back("--resume");
    const ProgramResult resumed = RunStallscope(sweep, here);
    CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
    const auto done = ReadJson(dir / "s.json");
    for (const auto& point : done["points"]) {
      CHECK(point["measured"].is_object());
    }
  }

  TEST_CASE("killed at any time, a simulated sweep resumes to the same bytes") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    REQUIRE(RunStallscope(Simulate(trace, dir / "whole.json")).exit_code == 0);
    for (size_t kills = 0; kills < 3; ++kills) {
      const pid_t child = Start(Simulate(trace, dir / "s.json"));
      // Until it has done one more thing than the last time.
      while (CountIn(dir / "s.json", "\"predicted\":{") < kills * 64 + 1 &&
             waitpid(child, nullptr, WNOHANG) == 0) {
        usleep(1'000);
      }
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      CHECK(nlohmann::json::accept(ReadText(dir / "s.json")));
    }
    CHECK(RunStallscope(Simulate(trace, dir / "s.json")).exit_code == 0);
    CHECK(ReadText(dir / "s.json") == ReadText(dir / "whole.json"));
  }

  TEST_CASE("Ctrl-C ends a sweep cleanly, and --resume continues it") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    std::vector<std::string> words = {"replay", trace,         "--vary",    "work.parallelism=1,2",
                                      "--mode", "rerun",       "--repeats", "500",
                                      "-o",     dir / "s.json"};
    const pid_t child = Start(words);
    int status = 0;
    while (CountIn(dir / "s.json", "\"steps\":40") < 2 && waitpid(child, &status, WNOHANG) == 0) {
      usleep(1'000);
    }
    kill(child, SIGINT);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK_FALSE(std::filesystem::exists(dir / "s.json.leases"));
    CHECK(ReadJson(dir / "s.json")["complete"] == false);
    CheckSweepFails(RunStallscope(words), 2, "--resume");
    words[7] = "2";
    words.emplace_back("--resume");
    CHECK(RunStallscope(words).exit_code == 0);
    CHECK(ReadJson(dir / "s.json")["complete"] == true);
  }

  TEST_CASE("ranks of Open MPI share the points, and the results are one file") {
    if (test::RunProgram({"sh", "-c", "command -v mpirun"}).exit_code != 0) {
      return test::Skip("mpirun is not here");
    }
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    const ProgramResult run =
        test::RunProgram({"mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe",
                          test::BuildDir() + "/bin/stallscope", "replay", trace, "--vary",
                          "work.parallelism=1,2,3,4", "--repeats", "2", "-o", dir / "s.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    const auto sweep = ReadJson(dir / "s.json");
    CHECK(sweep["complete"] == true);
    for (const auto& point : sweep["points"]) CHECK(point["runs"].size() == 2);
    CHECK(run.out.find("best: ") == run.out.rfind("best: "));
    CHECK_FALSE(std::filesystem::exists(dir / "s.json.leases"));
  }

  TEST_CASE("verify measures recommendations, and analyze shows the gains") {
    ScratchDir dir;
    const std::string trace = Recorded(dir);
    const ProgramResult run = RunStallscope(
        {"replay", trace, "--verify", "--repeats", "1", "-o", dir / "run.sweep.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    const auto sweep = ReadJson(dir / "run.sweep.json");
    CHECK(sweep["kind"] == "verify");
    REQUIRE(sweep["points"].size() >= 1);
    CHECK(sweep["base"]["measured"].is_object());
    CHECK(sweep["points"][0].contains("patch"));
    const ProgramResult analyzed = RunStallscope({"analyze", trace, "--format", "json"});
    CHECK(analyzed.exit_code == 0);
    // One that has no price tells what was measured in words.
    size_t measured = 0;
    const auto report = nlohmann::json::parse(analyzed.out);
    for (const auto& finding : report["findings"]) {
      if (!finding["recommendation"].is_object()) continue;
      const auto& gain = finding["recommendation"]["gain"];
      const auto& unpriced = finding["recommendation"]["unpriced"];
      const bool told =
          unpriced.is_string() && unpriced.get<std::string>().find("measured") != std::string::npos;
      measured += told || (gain.is_object() && gain["measured"].is_number()) ? 1U : 0U;
    }
    size_t points = 0;
    for (const auto& point : sweep["points"]) points += point["measured"].is_object() ? 1U : 0U;
    REQUIRE(points >= 1);
    CHECK(measured >= 1);
    // Another recording of the same spec is another run.
    CHECK(RunStallscope({"record", dir / "spec.json", "-o", dir / "other.sst", "--quiet"})
              .exit_code == 0);
    const ProgramResult other = RunStallscope({"analyze", dir / "other.sst", "--format", "text"});
    CHECK(other.out.find("measured") == std::string::npos);
  }

  TEST_CASE("what tune says fits 80 columns; settings, patches and paths are whole") {
    const ProgramResult run =
        RunStallscope({"tune", stallscope::test::SourceDir() + "/sample_traces/input_decode.sst",
                       "--mode", "simulate"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    CHECK(run.out.find("\nended ") != std::string::npos);
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      const bool copied = line.starts_with("#") || line.starts_with("patch");
      if (!copied) CHECK_MESSAGE(line.size() <= 80, line);
    }
  }

  TEST_CASE("tune writes a faster spec, and prints by how much") {
    ScratchDir dir;
    const std::string trace = Recorded(dir, kSleepy);
    const ProgramResult run =
        RunStallscope({"tune", trace, "--max-runs", "6", "-o", dir / "best.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    for (const char* word : {"before", "after", "answer", "faster", "patch", "work.parallelism"}) {
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    }
    const ProgramResult again =
        RunStallscope({"record", dir / "best.json", "-o", dir / "best.sst", "--quiet"});
    CHECK_MESSAGE(again.exit_code == 0, again.err);
    const ProgramResult simulated =
        RunStallscope({"tune", trace, "--mode", "simulate", "-o", dir / "guess.json"});
    CHECK(simulated.exit_code == 0);
    CHECK(simulated.out.find("predicted") != std::string::npos);
    CheckSweepFails(RunStallscope({"tune", dir / "spec.json", "--mode", "simulate"}), 2,
                    "record it");
    CheckSweepFails(RunStallscope({"tune", dir / "none.json"}), 3, "none.json");
  }
}
