// The specs of sample_traces/specs show what their names say, and the training run learns.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::BuildDir;
using stallscope::test::ProgramResult;
using stallscope::test::RunProgram;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;
using stallscope::test::SourceDir;

namespace {

// The figure before `unit`, in percent or whatever it is.
double FigureBefore(const std::string& text, const std::string& unit) {
  const size_t at = text.find(unit);
  if (at == std::string::npos) return -1;
  const size_t start = text.find_last_not_of("0123456789.", at - 1);
  return std::strtod(text.c_str() + start + 1, nullptr);
}

// `stallscope record` of a shipped spec in the folder that has its data.
ProgramResult Record(const ScratchDir& dir, const std::string& name, int steps,
                     const std::vector<std::string>& settings = {}) {
  std::vector<std::string> arguments = {"bash",
                                        "-c",
                                        "cd \"$1\"; shift; exec \"$@\"",
                                        "bash",
                                        dir.path(),
                                        BuildDir() + "/bin/stallscope",
                                        "record",
                                        SourceDir() + "/sample_traces/specs/" + name + ".json",
                                        "-o",
                                        dir / (name + ".sst"),
                                        "--steps",
                                        std::to_string(steps)};
  for (const std::string& setting : settings) {
    arguments.push_back("--set");
    arguments.push_back(setting);
  }
  const ProgramResult run = RunProgram(arguments);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  return run;
}

double StallPercent(const ScratchDir& dir, const std::string& name, int steps,
                    const std::vector<std::string>& settings = {}) {
  return FigureBefore(Record(dir, name, steps, settings).out, "% of the time waiting for input");
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("the shipped specs wait for their input only where they should") {
    ScratchDir dir;
    REQUIRE(RunStallscope({"generate", dir / "data", "--images", "32"}).exit_code == 0);
    struct Expected {
      const char* name;
      int steps;
      double at_least;
      double at_most;
    };
    // Generous: on a machine that does other things as well every sleep ends late.
    for (const Expected& spec : std::vector<Expected>{{"input_blocked", 30, 30, 100},
                                                      {"input_buffer", 80, 25, 100},
                                                      {"input_contention", 30, 30, 100},
                                                      {"input_decode", 20, 30, 100},
                                                      {"input_order", 40, 40, 100},
                                                      {"input_read", 12, 60, 100},
                                                      {"input_serial", 30, 30, 100},
                                                      {"balanced", 20, 10, 45},
                                                      {"communication", 30, 0, 25},
                                                      {"compute", 30, 0, 25},
                                                      {"launch", 30, 0, 25},
                                                      {"transfer", 30, 0, 25}}) {
      CAPTURE(spec.name);
      const double stall = StallPercent(dir, spec.name, spec.steps);
      CHECK(stall >= spec.at_least);
      CHECK(stall <= spec.at_most);
    }
  }

  TEST_CASE("fixing the bottleneck removes the wait") {
    ScratchDir dir;
    // A machine that is busy with something else at that moment spoils a try, not three.
    const auto cured = [&](const std::string& name, int steps,
                           const std::vector<std::string>& settings) {
      CAPTURE(name);
      double before = 0;
      double after = 0;
      for (int tries = 0; tries < 3 && (before <= 25 || after >= before / 2); ++tries) {
        before = StallPercent(dir, name, steps);
        after = StallPercent(dir, name, steps, settings);
      }
      CHECK(before > 25);
      CHECK(after < before / 2);
    };
    cured("input_order", 40, {"fetch.deterministic=false"});
    cured("input_blocked", 40, {"fetch.parallelism=4"});
    cured("input_buffer", 80, {"prefetch.buffer_size=32"});
  }

  TEST_CASE("training on generated images reaches 95% accuracy within a minute") {
    ScratchDir dir;
    REQUIRE(
        RunStallscope({"generate", dir / "data", "--images", "512", "--size", "96x96"}).exit_code ==
        0);
    const ProgramResult run = Record(dir, "train", 300);
    CAPTURE(run.out);
    const size_t learned = run.out.find("accuracy ");
    REQUIRE(learned != std::string::npos);
    CHECK(std::strtod(run.out.c_str() + learned + 9, nullptr) >= 95);
    CHECK(run.out.find("loss ") != std::string::npos);
    CHECK(run.out.find("samples/s") != std::string::npos);
  }
}
