// `stallscope run`, as a user meets it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::BuildDir;
using stallscope::test::Has;
using stallscope::test::OneLine;
using stallscope::test::ProgramResult;
using stallscope::test::RunProgram;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

namespace {

const std::string kWriter = stallscope::test::SourceDir() + "/tests/collectors/job/writer.py";

// Runs a program whose stderr is a terminal, and prints what came there.
constexpr const char* kOnTerminal = R"(
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
program = subprocess.Popen(sys.argv[1:], stderr=theirs, stdout=subprocess.DEVNULL)
os.close(theirs)
try:
    while True:
        part = os.read(ours, 65536)
        if not part:
            break
        os.write(1, part)
except OSError:
    pass  # the last one has closed the terminal
sys.exit(program.wait())
)";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("run: the last line has steps, verdict and file; the output is the job's") {
    const ScratchDir dir;
    const ProgramResult done =
        RunStallscope({"run", "-o", dir / "r.sst", "--", "python3", kWriter, "300"});
    CHECK(done.exit_code == 0);
    CHECK(done.out.empty());
    CHECK(OneLine(done.err));
    CHECK(done.err.find("stallscope: 300 steps; ") == 0);
    CHECK(Has(done.err, "; " + (dir / "r.sst") + "\n"));

    const auto info =
        nlohmann::json::parse(RunStallscope({"info", dir / "r.sst", "--format", "json"}).out);
    CHECK(info["job"]["command"] == nlohmann::json{"python3", kWriter, "300"});
    CHECK(info["job"]["exit_code"] == 0);
    CHECK(info["job"]["frameworks"]["torch"] == "2.9.0");
    CHECK(info["loaders"][0]["name"] == "loader");
    CHECK(info["processes"].size() >= 1);
    const ProgramResult text = RunStallscope({"info", dir / "r.sst"});
    CHECK(Has(text.out, "writer.py"));
    CHECK(Has(text.out, "/train.py:12"));

    const auto report = nlohmann::json::parse(
        RunStallscope({"analyze", dir / "r.sst", "--format", "json", "--no-price"}).out);
    const auto& job = report["run"]["job"];
    CHECK(job["command"][0] == "python3");
    CHECK(job["cwd"] == std::filesystem::current_path().string());
    CHECK(job["loaders"][0]["where"]["line"] == 12);
    CHECK(job["loaders"][0]["settings"]["num_workers"] == 0);
    REQUIRE(job["processes"].size() >= 1);
    const auto& process = job["processes"][0];
    CHECK(process["name"] == "writer.py");
    CHECK(process["pid"].get<int>() > 1);
    CHECK(process["cpu_s"].get<double>() <= process["lived_s"].get<double>() * 8 + 1);
    // A sample of so short a job may be of its first moments.
    CHECK(process["peak_rss_bytes"].get<double>() > 0);
  }

  TEST_CASE("run --digest: the same batches have one digest, whatever the workers") {
    const ScratchDir dir;
    const std::string shim = stallscope::test::SourceDir() + "/tests/collectors/job/python/";
    const std::string stand_in = "PYTHONPATH=" + shim + "standin";
    const auto digest_of = [&](const std::string& job, std::vector<std::string> options) {
      std::vector<std::string> words{"run", "-o", dir / "r.sst"};
      words.insert(words.end(), options.begin(), options.end());
      words.insert(words.end(), {"--", "python3", shim + "jobs.py", job});
      const ProgramResult done = RunStallscope(words, {stand_in});
      CHECK(done.exit_code == 0);
      const auto report = nlohmann::json::parse(
          RunStallscope({"analyze", dir / "r.sst", "--format", "json", "--no-price"}).out);
      const auto& digest = report["run"]["digest"];
      const auto limits = report["trust"]["limits"].dump();
      CHECK(Has(limits, "--digest takes to hash") == digest.is_string());
      if (!digest.is_string()) return std::string();
      CHECK(Has(done.err, "stallscope: digest " + digest.get<std::string>() + "\n"));
      return digest.get<std::string>();
    };
    const std::string zero = digest_of("zero", {"--digest"});
    CHECK(zero.size() == 32);
    CHECK(digest_of("zero", {"--digest", "--set", "loader.num_workers=2"}) == zero);
    CHECK(digest_of("subset", {"--digest"}) != zero);
    CHECK(digest_of("zero", {}).empty());
  }

  TEST_CASE("run: a program without a loader still has a report") {
    const ScratchDir dir;
    const ProgramResult done = RunStallscope(
        {"run", "-o", dir / "r.sst", "--", "sh", "-c", "sleep 0.2; echo out; exit 7"});
    CHECK(done.exit_code == 7);
    CHECK(done.out == "out\n");
    CHECK(Has(done.err, "stallscope: the job exited 7\n"));
    CHECK(Has(done.err, "stallscope: 0 steps; inconclusive"));
    const ProgramResult report = RunStallscope({"analyze", dir / "r.sst", "--format", "json"});
    CHECK(report.exit_code == 0);
    CHECK(Has(report.out, "no Python process was seen"));
    CHECK(Has(RunStallscope({"info", dir / "r.sst"}).out, "sleep"));
  }

  TEST_CASE("run: what the text shows of a long command can be copied") {
    const ScratchDir dir;
    const std::string long_word =
        "--data=/mnt/" + std::string(40, 'a') + "/" + std::string(90, 'b');
    const std::vector<std::string> job{"true", long_word, "two words", long_word + "2"};
    std::vector<std::string> command{"run", "--quiet", "-o", dir / "r.sst", "--"};
    command.insert(command.end(), job.begin(), job.end());
    REQUIRE(RunStallscope(command).exit_code == 0);
    const std::string whole = "true " + long_word + " 'two words' " + long_word + "2\n";
    CHECK(Has(RunStallscope({"info", dir / "r.sst"}).out, "  " + whole));
    CHECK(Has(RunStallscope({"analyze", dir / "r.sst"}).out, "\n  command: " + whole));
  }

  TEST_CASE("run: arguments reach the program as they are") {
    const ScratchDir dir;
    const ProgramResult done = RunStallscope({"run", "--quiet", "-o", dir / "r.sst", "--", "printf",
                                              "%s|", "[1,2]", "", "--", "-o", "a b", "{}"});
    CHECK(done.exit_code == 0);
    CHECK(done.out == "[1,2]||--|-o|a b|{}|");
    CHECK(done.err.empty());
  }

  TEST_CASE("run: progress is shown on a terminal that the job does not print on") {
    const ScratchDir dir;
    const auto shown = [&](const std::string& redirected) {
      const std::string script = redirected + "python3 '" + kWriter + "' 300; sleep 0.7";
      const ProgramResult done =
          RunProgram({"python3", "-c", kOnTerminal, BuildDir() + "/bin/stallscope", "run", "-o",
                      dir / "r.sst", "--", "sh", "-c", script});
      CHECK(done.exit_code == 0);
      CHECK(Has(done.out, "stallscope: 300 steps; "));
      return Has(done.out, "300 steps, ") && Has(done.out, " steps/s, ");
    };
    CHECK(shown("exec >/dev/null 2>&1; "));
    CHECK_FALSE(shown(""));
    CHECK_FALSE(shown("exec >/dev/null; "));
  }

  TEST_CASE("run: the trace is not written over a file that the command names") {
    const ScratchDir dir;
    const std::string script = dir / "train.sh";
    std::ofstream(script) << "echo trained\n";
    std::filesystem::create_symlink(script, dir / "link");
    for (const std::string& output : {script, dir / "link"}) {
      for (const std::string& named : {script, "--config=" + script}) {
        const ProgramResult done = RunStallscope({"run", "-o", output, "--", "sh", named});
        CHECK(done.exit_code == 2);
        CHECK(OneLine(done.err));
        CHECK(Has(done.err, "the output is also an input of this command"));
        CHECK(std::filesystem::file_size(script) == 13);
      }
    }
  }

  TEST_CASE("run: what cannot be run is said in one line") {
    const ScratchDir dir;
    const auto refused = [&](std::vector<std::string> arguments, int exit_code,
                             const std::string& why) {
      arguments.insert(arguments.begin(), {"run", "-o", dir / "r.sst"});
      const ProgramResult done = RunStallscope(arguments);
      CAPTURE(done.err);
      CHECK(done.exit_code == exit_code);
      CHECK(OneLine(done.err));
      CHECK(Has(done.err, why));
      CHECK_FALSE(std::filesystem::exists(dir / "r.sst"));
    };
    refused({}, 2, "COMMAND");
    refused({"true"}, 2, "--");
    refused({"--"}, 2, "COMMAND");
    refused({"--set", "loader.workers=2", "--", "true"}, 2,
            "the nearest path is 'loader.num_workers'");
    refused({"--profile", "on", "--", "true"}, 2, "profile");
    refused({"--", "/no/such/program"}, 5, "/no/such/program: cannot be started");
    const ProgramResult nowhere = RunStallscope({"run", "-o", "/no/folder/r.sst", "--", "true"});
    CHECK(nowhere.exit_code == 5);
    CHECK(OneLine(nowhere.err));
  }
}
