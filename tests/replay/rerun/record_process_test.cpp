#include "replay/rerun/record_process.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/paths.h"

using namespace stallscope;
using replay::RecordProcess;

namespace {

RecordProcess ProcessIn(const test::ScratchDir& dir, const std::string& spec) {
  std::ofstream(dir / "spec.json") << spec;
  return {{test::BuildDir() + "/bin/stallscope", "record", dir / "spec.json", "-o", dir / "run.sst",
           "--quiet"},
          dir / "errors",
          "",
          "",
          false};
}

constexpr const char* kQuick = R"({"stages": [
  {"name": "read", "source": {"format": "synthetic"}}, {"name": "batch", "batch": {"size": 4}}],
  "trainer": {"device": "emulated", "steps": 5}})";
constexpr const char* kEndless = R"({"stages": [
  {"name": "read", "source": {"format": "synthetic", "sleep_us": 1000}},
  {"name": "again", "repeat": {}}, {"name": "batch", "batch": {"size": 4}}],
  "trainer": {"device": "emulated", "steps": 0}})";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a successful recording leaves its trace") {
    test::ScratchDir dir;
    const auto done = Run(ProcessIn(dir, kQuick), {});
    REQUIRE(done.ok());
    CHECK_FALSE(done.value());
    CHECK(std::filesystem::exists(dir / "run.sst"));
  }

  TEST_CASE("a child's error keeps its kind") {
    test::ScratchDir dir;
    const auto usage = Run(ProcessIn(dir, R"({"stages": [{"name": "r", "sourc": {}}]})"), {});
    REQUIRE_FALSE(usage.ok());
    CHECK(usage.error().kind == ErrorKind::kUsage);
    CHECK(usage.error().Line().find("'source'") != std::string::npos);
    CHECK(usage.error().Line().find("stallscope: ") == std::string::npos);
    const auto failed = Run(
        ProcessIn(
            dir, R"({"stages": [{"name": "r", "source": {"format": "raw", "files": ["/no/x"]}}]})"),
        {});
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().kind == ErrorKind::kRun);
    CHECK(failed.error().Line().find("/no/x") != std::string::npos);
  }

  TEST_CASE("a missing program is reported") {
    test::ScratchDir dir;
    RecordProcess process = ProcessIn(dir, kQuick);
    process.command[0] = "/no/such/program";
    const auto done = Run(process, {});
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().where == "/no/such/program");
  }

  TEST_CASE("a child that does not heed the stop is killed when its time is up, not before") {
    test::ScratchDir dir;
    RecordProcess process = ProcessIn(dir, kQuick);
    process.command[0] = dir / "deaf";
    std::ofstream(process.command[0]) << "#!/bin/sh\ntrap '' TERM\ntouch " << dir / "deaf.ready"
                                      << "\nwhile :; do sleep 0.05; done\n";
    std::filesystem::permissions(process.command[0], std::filesystem::perms::owner_all);
    const auto ready = [&] { return std::filesystem::exists(dir / "deaf.ready"); };
    // A second at each look.
    int looks = 0;
    const auto done = Run(process, ready, [&] { return ++looks * kNsPerSecond; });
    REQUIRE(done.ok());
    CHECK(done.value());
    CHECK(looks >= 12);
  }

  TEST_CASE("a stop ends an endless run") {
    test::ScratchDir dir;
    const auto done = Run(ProcessIn(dir, kEndless), [] { return true; });
    REQUIRE(done.ok());
    CHECK(done.value());
  }

  TEST_CASE("what a child leaves behind is gone, and it has a folder and a TMPDIR of its own") {
    test::ScratchDir dir;
    RecordProcess process;
    process.command = {"/bin/sh", "-c",
                       "sleep 1000 & echo $! > left; echo $TMPDIR $(pwd) > seen; cat; exit 3"};
    process.errors = dir / "errors";
    process.folder = dir.path();
    process.temporary = dir / "tmp";
    process.job = true;
    const auto done = Run(process, {});
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().kind == ErrorKind::kRun);
    CHECK(done.error().Line() == "the job exited 3");
    const auto line = [&](const std::string& name) {
      std::string text;
      std::getline(std::ifstream(dir / name) >> std::ws, text);
      return text;
    };
    CHECK(line("seen") == dir / "tmp" + " " + std::filesystem::canonical(dir.path()).string());
    // Killed: it ends soon, though it may not be reaped yet by whoever adopted it.
    const std::string stat = "/proc/" + line("left") + "/stat";
    for (std::string state = "?"; !state.empty() && state.find(") Z ") == std::string::npos;) {
      state.clear();
      std::getline(std::ifstream(stat), state);
    }
  }
}
