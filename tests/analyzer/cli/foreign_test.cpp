// What other profilers wrote, as a user gives it to the commands that predict.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using test::Has;
using test::ProgramResult;
using test::RunStallscope;
using test::ScratchDir;

namespace {

std::string SamplePath(const std::string& name) {
  return test::SourceDir() + "/sample_traces/" + name;
}

// Wherever a line was broken.
std::string Unbroken(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text[at] = ' ';
  for (size_t at = 0; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("replay simulates a foreign trace, in steps where samples are unknown") {
    ScratchDir dir;
    const ProgramResult run =
        RunStallscope({"replay", SamplePath("pytorch_workers_0.json.gz"), "--vary",
                       "DataLoader.parallelism=1,2,4", "--mode", "simulate", "-o", dir / "s.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    CHECK(Has(run.out, "steps/s predicted"));
    CHECK_FALSE(Has(run.out, "samples/s"));
    const auto sweep = nlohmann::json::parse(std::ifstream(dir / "s.json"));
    CHECK(sweep["counted"] == "steps");
    REQUIRE(sweep["points"].size() == 3);
    // 24 steps took 1.43 s.
    CHECK(sweep["points"][0]["predicted"]["samples_per_s"].get<double>() ==
          doctest::Approx(16.8).epsilon(0.1));
    // What more workers bring depends on cores that the trace does not name.
    for (size_t i = 1; i < 3; ++i) {
      CHECK(sweep["points"][i]["predicted"].is_null());
      CHECK(Has(sweep["points"][i]["unpriced"].get<std::string>(), "how many cores"));
    }
  }

  TEST_CASE("a loader without visible stages is named and left unpriced") {
    ScratchDir dir;
    const std::string trace = SamplePath("pytorch_workers_2.json.gz");
    const ProgramResult run =
        RunStallscope({"replay", trace, "--vary", "DataLoader.parallelism=2,4", "--mode",
                       "simulate", "-o", dir / "s.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    const auto sweep = nlohmann::json::parse(std::ifstream(dir / "s.json"));
    for (const auto& point : sweep["points"]) {
      CHECK(point["predicted"].is_null());
      const std::string why = point["unpriced"].get<std::string>();
      CHECK(Has(why, "DataLoader"));
      CHECK(Has(why, "num_workers=0"));
    }
    const ProgramResult tuned = RunStallscope({"tune", trace, "--mode", "simulate"});
    CHECK_MESSAGE(tuned.exit_code == 0, tuned.err);
    CHECK(Has(Unbroken(tuned.out), "nothing else was tried"));
    CHECK(Has(Unbroken(tuned.out), "DataLoader: its workers are other processes"));
  }

  TEST_CASE("tune does not mistake a foreign JSON trace for a spec") {
    ScratchDir dir;
    const ProgramResult run = RunStallscope({"tune", SamplePath("pytorch_workers_0.json.gz"),
                                             "--mode", "simulate", "-o", dir / "best.json"});
    CHECK_MESSAGE(run.exit_code == 0, run.err);
    CHECK(Has(run.out, "steps/s"));
    CHECK(Has(run.out, "DataLoader"));
    // Unpacked it is JSON, as a spec is.
    std::ofstream(dir / "trace.json")
        << R"({"schemaVersion": 1, "traceEvents": [)"
        << R"({"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":1}]})";
    const ProgramResult plain = RunStallscope({"tune", dir / "trace.json", "--mode", "simulate"});
    CHECK(plain.exit_code == 3);
    CHECK(Has(plain.err, "no steps"));
    // What is neither is told what a spec has.
    std::ofstream(dir / "neither.json") << R"({"stagess": []})";
    const ProgramResult neither = RunStallscope({"tune", dir / "neither.json"});
    CHECK(neither.exit_code == 2);
    CHECK(Has(neither.err, "stages"));
  }

  TEST_CASE("replay refuses to run a foreign trace") {
    ScratchDir dir;
    const std::string trace = SamplePath("pytorch_workers_0.json.gz");
    const ProgramResult tuned = RunStallscope({"tune", trace});
    CHECK(tuned.exit_code == 3);
    CHECK(Has(tuned.err, "--mode simulate"));
    const ProgramResult run =
        RunStallscope({"replay", trace, "--vary", "DataLoader.parallelism=1,2", "--mode", "rerun",
                       "-o", dir / "s.json"});
    CHECK(run.exit_code == 3);
    CHECK(Has(run.err, "--emulate"));
  }

  TEST_CASE("every foreign sample can be simulated and tuned") {
    for (const char* const name :
         {"tf_images_slow.xplane.pb.gz", "tf_images_fixed.xplane.pb.gz",
          "jax_training.xplane.pb.gz", "pytorch_workers_0.json.gz", "pytorch_workers_2.json.gz"}) {
      CAPTURE(name);
      ScratchDir dir;
      const ProgramResult run =
          RunStallscope({"tune", SamplePath(name), "--mode", "simulate", "-o", dir / "best.json"});
      CHECK_MESSAGE(run.exit_code == 0, run.err);
      CHECK(Has(run.out, "predicted"));
      CHECK(nlohmann::json::parse(std::ifstream(dir / "best.json")).contains("stages"));
    }
  }

  TEST_CASE("analyze advises a foreign run in its framework's terms, without unfounded gains") {
    const ProgramResult run =
        RunStallscope({"analyze", SamplePath("pytorch_workers_0.json.gz"), "--format", "json"});
    REQUIRE_MESSAGE(run.exit_code == 0, run.err);
    const auto report = nlohmann::json::parse(run.out);
    const auto& finding = report["findings"][0];
    CHECK(finding["id"] == "loader-workers");
    const auto& recommendation = finding["recommendation"];
    CHECK(recommendation["patch"].empty());  // its author has no spec
    CHECK(recommendation["gain"].is_null());
    CHECK(Has(recommendation["unpriced"].get<std::string>(), "how many cores"));
    CHECK(Has(recommendation["code"]["pytorch"].get<std::string>(), "num_workers=min("));
    for (const char* const other : {"tf.data", "dali", "grain"}) {
      CHECK(recommendation["code"][other].is_null());
    }
    const ProgramResult tf =
        RunStallscope({"analyze", SamplePath("tf_images_slow.xplane.pb.gz"), "--format", "json"});
    REQUIRE_MESSAGE(tf.exit_code == 0, tf.err);
    const auto slow = nlohmann::json::parse(tf.out);
    size_t advised = 0;
    for (const auto& row : slow["findings"]) {
      if (!row["recommendation"].is_object()) continue;
      CHECK(row["recommendation"]["code"]["pytorch"].is_null());
      advised += row["recommendation"]["code"]["tf.data"].is_string() ? 1U : 0U;
    }
    CHECK(advised >= 2);
  }

  TEST_CASE("workers in other processes are unknown") {
    const ProgramResult run =
        RunStallscope({"analyze", SamplePath("pytorch_workers_2.json.gz"), "--format", "json"});
    REQUIRE_MESSAGE(run.exit_code == 0, run.err);
    const auto report = nlohmann::json::parse(run.out);
    REQUIRE(report["stages"].size() == 1);
    CHECK(report["stages"][0]["parallelism"].is_null());
    CHECK(report["stages"][0]["queue"]["capacity"].is_null());
    const ProgramResult text = RunStallscope({"analyze", SamplePath("pytorch_workers_2.json.gz")});
    CHECK_FALSE(Has(text.out, " of 0"));
  }
}
