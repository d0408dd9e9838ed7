// `stallscope record` as a user runs it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::OneLine;
using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

namespace {

constexpr const char* kSynthetic = R"~({"name": "small", "seed": 3, "stages": [
  {"name": "read", "source": {"format": "synthetic", "elements": %E, "bytes": 96}},
  {"name": "work", "map": {"ops": ["busy(20)"], "parallelism": 2}},
  {"name": "batch", "batch": {"size": 4, "drop_remainder": true}},
  {"name": "ready", "prefetch": {"buffer_size": 2}}],
  "trainer": {"device": "emulated", "steps": 20, "emulated": {"compute_us_per_batch": 100}}})~";

std::string WriteSpec(const ScratchDir& dir, const std::string& elements = "1000") {
  std::string text = kSynthetic;
  text.replace(text.find("%E"), 2, elements);
  std::ofstream(dir / "spec.json") << text;
  return dir / "spec.json";
}

nlohmann::json RunInfo(const std::string& trace) {
  const ProgramResult info = RunStallscope({"info", trace, "--format", "json"});
  CHECK(info.exit_code == 0);
  return nlohmann::json::parse(info.out);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a device lost midway leaves a sealed trace, and exit code 5") {
    ScratchDir dir;
    const std::string module = "STALLSCOPE_CUDA_MODULE=" STALLSCOPE_LOST_MODULE;
    const ProgramResult run = RunStallscope(
        {"record", WriteSpec(dir), "-o", dir / "r.sst", "--device", "cuda", "--quiet"}, {module});
    CHECK(run.exit_code == 5);
    CHECK(OneLine(run.err));
    CHECK(run.err.find("the device is lost") != std::string::npos);
    const auto info = RunInfo(dir / "r.sst");
    CHECK(info["steps"] > 2);
    CHECK(info["steps"] < 20);
    CHECK(info["damaged_bytes"] == 0);
    const ProgramResult analyzed =
        RunStallscope({"analyze", dir / "r.sst", "--format", "json", "--no-price"});
    CHECK(analyzed.exit_code == 0);
    const auto report = nlohmann::json::parse(analyzed.out);
    CHECK(report["run"]["device"]["name"] == "a device that goes away");
    CHECK(report["devices"][0]["kernels"] > 2);  // by way of the module
    CHECK(report["trust"].dump().find("the run failed: cuda: the work") != std::string::npos);
  }

  TEST_CASE("record writes a sealed trace, and prints what ran on which device") {
    ScratchDir dir;
    const ProgramResult run =
        RunStallscope({"record", WriteSpec(dir), "-o", dir / "r.sst", "--digest"});
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("20, 80 samples") != std::string::npos);
    CHECK(run.out.find("emulated") != std::string::npos);
    const auto info = RunInfo(dir / "r.sst");
    CHECK(info["steps"] == 20);
    CHECK(info["dropped"] == 0);
    CHECK(info["damaged_bytes"] == 0);
    CHECK(info["digest"].get<std::string>().size() == 32);
    CHECK(run.out.find(info["digest"].get<std::string>()) != std::string::npos);
    // The same data, whatever the knobs of speed.
    CHECK(RunStallscope({"record", dir / "spec.json", "-o", dir / "s.sst", "--digest", "--quiet",
                         "--set", "work.parallelism=1", "--set", "ready.buffer_size=5"})
              .out.empty());
    CHECK(RunInfo(dir / "s.sst")["digest"] == info["digest"]);
    CHECK(RunStallscope({"record", dir / "spec.json", "-o", dir / "t.sst", "--quiet"}).exit_code ==
          0);
    CHECK(RunInfo(dir / "t.sst")["digest"].is_null());
  }

  TEST_CASE("the option for a replay's stores is hidden") {
    ScratchDir dir;
    std::filesystem::create_directory(dir / "stores");
    std::ofstream(dir / "spec.json") << R"({"stages": [
      {"name": "read", "source": {"format": "synthetic", "elements": 8, "bytes": 3}},
      {"name": "keep", "snapshot": {"path": ")"
                                     << (dir / "absent") << R"("}},
      {"name": "batch", "batch": {"size": 4}}], "trainer": {"device": "emulated"}})";
    CHECK(RunStallscope({"record", dir / "spec.json", "-o", dir / "r.sst", "--quiet", "--stores",
                         dir / "stores"})
              .exit_code == 0);
    CHECK_FALSE(std::filesystem::exists(dir / "absent"));
    CHECK_FALSE(std::filesystem::is_empty(dir / "stores"));
    for (const std::vector<std::string>& shown :
         {std::vector<std::string>{"record", "--help"}, {"man"}, {"completion", "bash"}}) {
      const ProgramResult said = RunStallscope(shown);
      CHECK(said.exit_code == 0);
      CHECK(said.out.find("digest") != std::string::npos);
      CHECK(said.out.find("--stores") == std::string::npos);
    }
    const ProgramResult typo =
        RunStallscope({"record", dir / "spec.json", "-o", dir / "s.sst", "--store", "x"});
    CHECK(typo.exit_code == 2);
    CHECK(typo.err.find("--stores") == std::string::npos);
  }

  TEST_CASE("a cache whose path is another file is refused with exit code 2, and the file stays") {
    ScratchDir dir;
    std::ofstream(dir / "thesis.txt") << "years of work";
    std::ofstream(dir / "spec.json") << R"({"stages": [
      {"name": "read", "source": {"format": "synthetic", "elements": 8, "bytes": 3}},
      {"name": "keep", "cache": {"where": "disk", "path": ")"
                                     << (dir / "thesis.txt") << R"("}},
      {"name": "batch", "batch": {"size": 4}}], "trainer": {"device": "emulated"}})";
    const ProgramResult refused =
        RunStallscope({"record", dir / "spec.json", "-o", dir / "r.sst", "--quiet"});
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find(dir / "thesis.txt") != std::string::npos);
    CHECK(refused.err.find("keep.path") != std::string::npos);
    std::ifstream thesis(dir / "thesis.txt");
    std::string line;
    std::getline(thesis, line);
    CHECK(line == "years of work");
    CHECK_FALSE(std::filesystem::exists(dir / "r.sst"));
  }

  TEST_CASE("data that ends before the steps ends the run cleanly, with a note") {
    ScratchDir dir;
    const ProgramResult run =
        RunStallscope({"record", WriteSpec(dir, "10"), "-o", dir / "r.sst", "--steps", "50"});
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("data") != std::string::npos);
    CHECK(RunInfo(dir / "r.sst")["steps"] == 2);
  }

  TEST_CASE("a run that cannot start has its exit code and one line, and leaves no trace") {
    ScratchDir dir;
    const std::string spec = WriteSpec(dir);
    const auto check = [&](std::vector<std::string> arguments, int exit_code,
                           const std::string& says) {
      CAPTURE(says);
      arguments.insert(arguments.begin(), "record");
      arguments.insert(arguments.end(), {"-o", dir / "r.sst"});
      const ProgramResult run = RunStallscope(arguments);
      CHECK(run.exit_code == exit_code);
      CHECK(OneLine(run.err));
      CHECK(run.err.find(says) != std::string::npos);
      CHECK_FALSE(std::filesystem::exists(dir / "r.sst"));
    };
    check({dir / "no.json"}, 3, "no.json");
    check({spec, "--set", "work.paralelism=2"}, 2, "parallelism");
    check({spec, "--set", "work.parallelism=0"}, 2, "work.parallelism");
    check({spec, "--device", "gpu"}, 2, "--device");
    check({spec, "--device", "cuda"}, 5, "cuda");
    std::ofstream(dir / "files.json")
        << R"({"stages": [{"name": "read", "source": {"format": "tfrecord", "files": ["/no/such/*"]}}]})";
    check({dir / "files.json"}, 5, "/no/such/*");
  }

  TEST_CASE("a run that fails midway seals its trace, which has the error") {
    ScratchDir dir;
    std::ofstream(dir / "bad.json") << R"~({"stages": [
      {"name": "read", "source": {"format": "synthetic", "bytes": 8}},
      {"name": "decode", "map": {"ops": ["one_hot(3)"]}}, {"name": "batch", "batch": {"size": 2}}],
      "trainer": {"device": "emulated"}})~";
    const ProgramResult run = RunStallscope({"record", dir / "bad.json", "-o", dir / "r.sst"});
    CHECK(run.exit_code == 5);
    CHECK(run.err.find("label 4 is out of range (3 classes)") == std::string::npos);
    CHECK(run.err.find("label 3 is out of range (3 classes)") != std::string::npos);
    const ProgramResult info = RunStallscope({"info", dir / "r.sst"});
    CHECK(info.exit_code == 0);
    CHECK((info.out + info.err).find("label 3 is out of range (3 classes)") != std::string::npos);
  }

  TEST_CASE("every shipped spec parses, and those without files run") {
    size_t run_here = 0;
    for (const auto& entry : std::filesystem::directory_iterator(stallscope::test::SourceDir() +
                                                                 "/sample_traces/specs")) {
      CAPTURE(entry.path());
      ScratchDir dir;
      std::ifstream text(entry.path());
      const auto spec = nlohmann::json::parse(text);
      CHECK(spec["name"] == entry.path().stem().string());
      const bool files = spec["stages"][0]["source"].contains("files");
      const ProgramResult run =
          RunStallscope({"record", entry.path(), "-o", dir / "r.sst", "--steps", "2", "--quiet"});
      CHECK(run.exit_code == (files ? 5 : 0));
      if (!files) ++run_here;
    }
    CHECK(run_here >= 8);
  }
}
