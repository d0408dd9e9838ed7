// Memory, threads, files and signals that a machine does not give, as a user meets it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

namespace fs = std::filesystem;
namespace test = stallscope::test;
using stallscope::test::BuildDir;
using stallscope::test::Has;
using stallscope::test::ProgramResult;
using stallscope::test::RunProgram;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

namespace {

std::string Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

// In bash, with "$stallscope" the program and "$1", "$2", ... the arguments. What would hang is
// killed by `timeout`, with exit code 124.
ProgramResult Bash(const std::string& script, std::vector<std::string> arguments) {
  std::vector<std::string> words = {"bash", "-c", script, "bash"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunProgram(words, {"stallscope=" + BuildDir() + "/bin/stallscope"});
}

std::string Spec(const ScratchDir& dir, const std::string& source, const std::string& trainer) {
  return Write(dir / "spec.json", R"({"stages": [{"name": "read", "source": )" + source +
                                      R"(}, {"name": "batch", "batch": {"size": 1}}],
      "transfer": {"dtype": "uint8"}, "trainer": )" +
                                      trainer + "}");
}

std::string Endless(const ScratchDir& dir) {
  return Spec(dir, R"({"format": "synthetic", "elements": 1000000000, "bytes": 64})",
              R"({"device": "emulated", "steps": 0, "graph": "captured",
                  "emulated": {"compute_us_per_batch": 200}})");
}

std::string OnHost(const ScratchDir& dir) {
  Write(dir / "host.json", R"({"stages": [
    {"name": "read", "source": {"format": "synthetic", "elements": 64, "bytes": 192}},
    {"name": "batch", "batch": {"size": 4}}],
    "trainer": {"device": "host", "steps": 4, "model": {"kind": "mlp"}}})");
  return dir / "host.json";
}

nlohmann::json Info(const std::string& trace) {
  const ProgramResult info = RunStallscope({"info", trace, "--format", "json"});
  CHECK(info.exit_code == 0);
  return nlohmann::json::parse(info.out, nullptr, false);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("commands that compute nothing need little memory, and do not load OpenBLAS") {
    if (!test::MemoryIsMeasurable()) return test::Skip("sanitizers need more memory");
    ScratchDir dir;
    const std::string spec = Spec(dir, R"({"format": "synthetic", "elements": 40, "bytes": 64})",
                                  R"({"device": "emulated"})");
    REQUIRE(RunStallscope({"record", spec, "-o", dir / "r.sst", "--quiet"}).exit_code == 0);
    for (const std::string words : {"--version", "--help", "info \"$1\"", "analyze \"$1\""}) {
      const ProgramResult run = Bash(
          "ulimit -v 200000; exec timeout -s KILL 60 \"$stallscope\" " + words, {dir / "r.sst"});
      CHECK_MESSAGE(run.exit_code == 0, words << ": " << run.err);
      CHECK_FALSE(run.out.empty());
    }
    const ProgramResult linked = Bash("ldd \"$stallscope\"", {});
    CHECK(linked.exit_code == 0);
    CHECK_FALSE(Has(linked.out, "blas"));
  }

  TEST_CASE("a host run without memory for OpenBLAS fails instead of hanging") {
    if (!test::MemoryIsMeasurable()) return test::Skip("sanitizers need more memory");
    ScratchDir dir;
    const std::string spec = OnHost(dir);
    const ProgramResult whole = RunStallscope({"record", spec, "-o", dir / "r.sst", "--quiet"});
    REQUIRE_MESSAGE(whole.exit_code == 0, whole.err);
    int refused = 0;
    for (const char* const kilobytes :
         {"80000", "120000", "160000", "200000", "250000", "300000"}) {
      const ProgramResult run = Bash(
          "ulimit -v $2; exec timeout -s KILL 60 \"$stallscope\" record \"$1\" -o \"$3\" --quiet",
          {spec, kilobytes, dir / "less.sst"});
      CAPTURE(kilobytes);
      CAPTURE(run.err);
      if (run.exit_code == 0) continue;
      ++refused;
      CHECK((run.exit_code == 5 || run.exit_code == 127));  // 127: not even its libraries fit
      CHECK(run.signal == 0);
      if (run.exit_code == 5) CHECK(Has(run.err, "memory"));
    }
    CHECK(refused > 0);
  }

  TEST_CASE("SIGHUP seals the trace, unless nohup ignores it") {
    ScratchDir dir;
    const std::string wait =
        "until [ \"$(stat -c %s \"$2\" 2>/dev/null || echo 0)\" -gt 20000 ]; "
        "do :; done; ";
    const ProgramResult hung_up =
        Bash("\"$stallscope\" record \"$1\" -o \"$2\" --quiet & run=$!; " + wait +
                 "kill -HUP $run; wait $run; echo \"exit $?\"",
             {Endless(dir), dir / "r.sst"});
    CHECK(Has(hung_up.out, "exit 0\n"));
    CHECK(Info(dir / "r.sst")["sealed"] == true);
    // It goes on after the signal: the file grows, until it is asked to end.
    const ProgramResult kept =
        Bash("trap '' HUP; \"$stallscope\" record \"$1\" -o \"$2\" --quiet & run=$!; " + wait +
                 "kill -HUP $run; size=$(stat -c %s \"$2\"); "
                 "while kill -0 $run && [ \"$(stat -c %s \"$2\")\" -lt $((size + 50000)) ]; do :; "
                 "done; kill -0 $run && echo alive; kill -TERM $run; wait $run; echo \"exit $?\"",
             {Endless(dir), dir / "kept.sst"});
    CHECK(Has(kept.out, "alive\nexit 0\n"));
    CHECK(Info(dir / "kept.sst")["sealed"] == true);
  }

  TEST_CASE("a pipe among the data is named or skipped, and never waited for") {
    ScratchDir dir;
    REQUIRE(RunStallscope(
                {"generate", dir / "data", "--images", "8", "--size", "32x32", "--shards", "2"})
                .exit_code == 0);
    REQUIRE(Bash("mkfifo \"$1\"", {dir / "data/a.tfrecord"}).exit_code == 0);
    fs::create_symlink(dir / "data/a.tfrecord", dir / "data/b.tfrecord");
    const auto record = [&](const std::string& format, const std::string& more) {
      const std::string spec = Spec(dir,
                                    R"({"format": ")" + format + R"(", "files": [")" +
                                        (dir / "data/*.tfrecord") + "\"]" + more + "}",
                                    R"({"device": "emulated"})");
      return Bash("exec timeout -s KILL 60 \"$stallscope\" record \"$1\" -o \"$2\"",
                  {spec, dir / "r.sst"});
    };
    for (const std::string format : {"tfrecord", "csv", "hdf5", "images", "raw"}) {
      const ProgramResult run = record(format, "");
      CHECK_MESSAGE(run.exit_code == 5, format << ": " << run.err);
      CHECK_MESSAGE(Has(run.err, (dir / "data/a.tfrecord") + ": is a named pipe, not a file"),
                    format << ": " << run.err);
    }
    const ProgramResult skipped = record("tfrecord", R"(, "on_error": "skip")");
    CHECK_MESSAGE(skipped.exit_code == 0, skipped.err);
    CHECK(Has(skipped.out, "8 samples"));
    CHECK(Has(skipped.out, "2 bad elements"));
    // Near miss: a link to a file is one.
    fs::remove(dir / "data/a.tfrecord");
    fs::remove(dir / "data/b.tfrecord");
    fs::create_symlink(dir / "data/data-00000-of-00002.tfrecord", dir / "data/c.tfrecord");
    const ProgramResult linked = record("tfrecord", "");
    CHECK_MESSAGE(linked.exit_code == 0, linked.err);
    CHECK(Has(linked.out, "12 samples"));
  }

  TEST_CASE("Ctrl-C ends a command that waits for a pipe's writer") {
    ScratchDir dir;
    REQUIRE(Bash("mkfifo \"$1\"", {dir / "pipe"}).exit_code == 0);
    for (const std::string words : {"tune \"$1\" --mode simulate", "record \"$1\" -o \"$1.sst\"",
                                    "replay \"$1\" --verify -o \"$1.json\"", "analyze \"$1\""}) {
      // Asleep in poll(): from then on only a signal or a writer gets it out of it.
      const ProgramResult run =
          Bash("timeout -s KILL 60 \"$stallscope\" " + words +
                   " & run=$!; until child=$(pgrep -P $run) && "
                   "grep -qs poll /proc/$child/wchan; do kill -0 $run || break; done; "
                   "kill -TERM $child; wait $run; echo \"exit $?\"",
               {dir / "pipe"});
      CHECK_MESSAGE(Has(run.out, "exit 143"), words << ": " << run.out << run.err);
    }
  }
}
