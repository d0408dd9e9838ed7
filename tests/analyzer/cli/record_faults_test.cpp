// What goes wrong with `stallscope record`, as a user meets it: one line that says what, where and
// what to do, the right exit code, and never half a file that looks whole.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace fs = std::filesystem;
using stallscope::test::BuildDir;
using stallscope::test::Has;
using stallscope::test::ProgramResult;
using stallscope::test::RunProgram;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

namespace {

void WriteFaultSpec(const std::string& path, const std::string& content) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A spec that decodes the files of `dir`, on an emulated device.
std::string SpecOf(const ScratchDir& dir, const std::string& format, const std::string& files,
                   const std::string& op, const std::string& more = "") {
  WriteFaultSpec(dir / "spec.json", R"({"stages": [{"name": "read", "source": {"format": ")" +
                                        format + R"(", "files": [")" + (dir / files) + "\"]" +
                                        more + R"(}}, {"name": "decode", "map": {"ops": [")" + op +
                                        R"~(", "resize(8)"], "parallelism": 2}},
      {"name": "batch", "batch": {"size": 4}}], "transfer": {"dtype": "uint8"},
      "trainer": {"device": "emulated", "steps": 0}})~");
  return dir / "spec.json";
}

// Endless and quick.
std::string EndlessSpec(const ScratchDir& dir) {
  WriteFaultSpec(dir / "spec.json", R"~({"stages": [
    {"name": "read", "source": {"format": "synthetic", "elements": 1000000000, "bytes": 64}},
    {"name": "batch", "batch": {"size": 4}}], "transfer": {"dtype": "uint8"},
    "trainer": {"device": "emulated", "steps": 0, "graph": "captured",
                "emulated": {"compute_us_per_batch": 200}}})~");
  return dir / "spec.json";
}

ProgramResult Record(const std::string& spec, const std::string& output) {
  return RunStallscope({"record", spec, "-o", output, "--quiet"});
}

// Fails with exit code 5 and one line that has all of `says`.
void CheckFails(const ProgramResult& run, const std::vector<std::string>& says) {
  CAPTURE(run.err);
  CHECK(run.exit_code == 5);
  CHECK(run.out.empty());
  CHECK(run.err.find('\n') + 1 == run.err.size());
  for (const std::string& part : says) CHECK_MESSAGE(Has(run.err, part), part);
}

nlohmann::json FaultInfo(const std::string& trace) {
  const ProgramResult info = RunStallscope({"info", trace, "--format", "json"});
  CHECK(info.exit_code == 0);
  return nlohmann::json::parse(info.out);
}

void FlipBitInSecondRecord(const std::string& path) {
  std::string content = Read(path);
  uint64_t first = 0;
  std::memcpy(&first, content.data(), sizeof first);
  content[first + 16 + 12 + 40] ^= 4;
  WriteFaultSpec(path, content);
}

std::string OnlyRecordFile(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tfrecord") return entry.path();
  }
  return "";
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("missing, empty or ragged data: the error names the place and the remedy") {
    ScratchDir dir;
    CheckFails(Record(SpecOf(dir, "tfrecord", "no.tfrecord", "decode_jpeg"), dir / "r.sst"),
               {dir / "no.tfrecord"});
    fs::create_directories(dir / "empty");
    CheckFails(Record(SpecOf(dir, "images", "empty", "decode_jpeg"), dir / "r.sst"),
               {dir / "empty"});
    CHECK_FALSE(fs::exists(dir / "r.sst"));
    WriteFaultSpec(dir / "rows.csv", "label,a,b,c\n1,2,3,4\n1,2\n0,4,5,6\n");
    CheckFails(Record(SpecOf(dir, "csv", "rows.csv", "decode_csv"), dir / "r.sst"),
               {dir / "rows.csv", "line 3"});
    // What was recorded until then is kept, and says why it ends.
    CHECK(FaultInfo(dir / "r.sst")["sealed"] == true);
  }

  TEST_CASE("an earlier trace is kept until the new run can start") {
    ScratchDir dir;
    const std::string good = EndlessSpec(dir);
    const std::string trace = dir / "r.sst";
    const auto record = [&](const char* steps) {
      return RunStallscope({"record", good, "-o", trace, "--quiet", "--steps", steps}).exit_code;
    };
    REQUIRE(record("5") == 0);
    const std::string earlier = Read(trace);
    CheckFails(Record(SpecOf(dir, "tfrecord", "no.tfrecord", "decode_jpeg"), trace),
               {dir / "no.tfrecord"});
    CHECK(Read(trace) == earlier);
    EndlessSpec(dir);
    REQUIRE(record("7") == 0);
    CHECK(FaultInfo(trace)["steps"] == 7);
    size_t traces = 0;
    for (const auto& entry : fs::directory_iterator(dir.path())) {
      traces += entry.path().string().find("r.sst") != std::string::npos ? 1U : 0U;
    }
    CHECK(traces == 1);
  }

  TEST_CASE("a corrupt record ends the run, or is skipped and reported") {
    ScratchDir dir;
    CHECK(
        RunStallscope({"generate", dir / "d", "--images", "8", "--size", "32x24", "--shards", "1"})
            .exit_code == 0);
    FlipBitInSecondRecord(OnlyRecordFile(dir / "d"));
    CheckFails(Record(SpecOf(dir, "tfrecord", "d/*.tfrecord", "decode_jpeg"), dir / "r.sst"),
               {".tfrecord", "offset ", "record 1", "on_error"});
    const ProgramResult skipped = RunStallscope(
        {"record",
         SpecOf(dir, "tfrecord", "d/*.tfrecord", "decode_jpeg", R"(, "on_error": "skip")"), "-o",
         dir / "s.sst"});
    CHECK(skipped.exit_code == 0);
    CHECK(Has(skipped.out, "7 samples"));
    CHECK(Has(skipped.out, "left out   1 bad element;"));
    CHECK(Has(skipped.out, "record 1"));
    CHECK(Has(RunStallscope({"info", dir / "s.sst"}).err, "record 1"));
  }

  TEST_CASE("a JPEG that claims 65535 x 65535 pixels costs an error, not memory") {
    ScratchDir dir;
    const std::string head(
        "\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\x00\x02\x11\x01"
        "\x03\x11\x01\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x3f\x00",
        35);
    WriteFaultSpec(dir / "images/a/huge.jpg", head + std::string(500, '\x55') + "\xff\xd9");
    CheckFails(Record(SpecOf(dir, "images", "images", "decode_jpeg"), dir / "r.sst"),
               {"huge.jpg", "65535"});
  }

  TEST_CASE("a failing write of the trace is an error, at the start and midway") {
    ScratchDir dir;
    CheckFails(Record(EndlessSpec(dir), "/dev/full"),
               {"/dev/full", "not a regular file", "name a regular file"});
    CHECK(fs::is_character_file("/dev/full"));
    CheckFails(Record(EndlessSpec(dir), dir / "no/r.sst"), {dir / "no/r.sst", "No such file"});
    CheckFails(Record(EndlessSpec(dir), dir.path()), {dir.path(), "name a file, not a folder"});
    // A limit on the size of files stands for a full disk: the run ends, and its beginning is kept.
    const ProgramResult full = RunProgram(
        {"bash", "-c", "ulimit -f 256; exec \"$@\"", "bash", BuildDir() + "/bin/stallscope",
         "record", EndlessSpec(dir), "-o", dir / "r.sst", "--quiet", "--set",
         "trainer.emulated.compute_us_per_batch=0", "--steps", "20000"});
    CheckFails(full, {dir / "r.sst", "File too large"});
    CHECK(FaultInfo(dir / "r.sst")["steps"] > 0);
  }

  TEST_CASE("files that are not ours are never removed") {
    ScratchDir dir;
    fs::create_symlink("/dev/null", dir / "null");
    CheckFails(Record(SpecOf(dir, "tfrecord", "no.tfrecord", "decode_jpeg"), dir / "null"),
               {"null", "not a regular file"});
    CHECK(fs::is_symlink(dir / "null"));
  }

  TEST_CASE("Ctrl-C seals the trace and exits 0; a second run cannot take its file") {
    ScratchDir dir;
    const std::string program = BuildDir() + "/bin/stallscope";
    // The trace is there before the first step, and grows only while the run goes on.
    const ProgramResult run = RunProgram(
        {"bash", "-c",
         "\"$1\" record \"$2\" -o \"$3\" & run=$!\n"
         "until [ \"$(stat -c %s \"$3\" 2>/dev/null || echo 0)\" -gt 20000 ]; do :; done\n"
         "\"$1\" record \"$2\" -o \"$3\" --quiet; echo \"second $?\"\n"
         "kill -INT $run; wait $run; echo \"first $?\"",
         "bash", program, EndlessSpec(dir), dir / "r.sst"});
    CHECK(Has(run.out, "second 5\n"));
    CHECK(Has(run.err, (dir / "r.sst") + ": another run is writing this file"));
    CHECK(Has(run.out, "first 0\n"));
    CHECK(Has(run.out, "stopped after"));
    const auto info = FaultInfo(dir / "r.sst");
    CHECK(info["sealed"] == true);
    CHECK(info["steps"] > 0);
  }
}
