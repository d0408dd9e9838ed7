// A sweep on disk: whose it is, what stays, what is never lost.
#include "replay/sweep/sweep_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/base/file.h"
#include "replay/sweep/sweep_json.h"
#include "tests/replay/sweep/sweeps.h"
#include "tests/support/paths.h"

using namespace stallscope;
using replay::ReadSweepFile;
using replay::SweepFile;
using replay::SweepFileOptions;
using replay::SweepMode;

namespace {

SweepFileOptions At(const std::string& path, bool resume = false) {
  SweepFileOptions options;
  options.path = path;
  options.resume = resume;
  return options;
}

replay::Sweep Planned() { return test::PlannedGrid(SweepMode::kSimulate); }

void Predict(replay::Sweep& sweep, size_t point, double rate) {
  sweep.points[point].predicted = replay::Rate{rate, rate, rate};
}

// A file that holds this sweep.
void Write(const std::string& path, const replay::Sweep& sweep) {
  REQUIRE(WriteFileAtomically(path, WriteSweep(sweep)).ok());
}

Error OpenFault(const SweepFileOptions& options, const replay::Sweep& planned) {
  const auto file = SweepFile::Open(options, planned);
  REQUIRE_FALSE(file.ok());
  return file.error();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the file exists from the start, is complete after each change, and alone at the end") {
    test::ScratchDir dir;
    {
      auto file = SweepFile::Open(At(dir / "s.json"), Planned());
      REQUIRE(file.ok());
      CHECK(ReadSweepFile(dir / "s.json").value().points.size() == 3);
      const auto now = file.value().Update([](replay::Sweep& sweep, replay::Leases&) {
        Predict(sweep, 1, 7);
        return true;
      });
      REQUIRE(now.ok());
      CHECK(ReadSweepFile(dir / "s.json").value().points == now.value().points);
      CHECK(std::filesystem::exists(dir / "s.json.leases"));
    }
    CHECK_FALSE(std::filesystem::exists(dir / "s.json.leases"));
  }

  TEST_CASE("a user's own files in the leases' folder are left alone") {
    test::ScratchDir dir;
    std::filesystem::create_directory(dir / "s.json.leases");
    std::ofstream(dir / "s.json.leases/notes.txt") << "not to be lost";
    std::ofstream(dir / "s.json.leases/lock") << "nor this";
    REQUIRE(SweepFile::Open(At(dir / "s.json"), Planned()).ok());
    CHECK(ReadWholeFile(dir / "s.json.leases/notes.txt", 100).value() == "not to be lost");
    CHECK(ReadWholeFile(dir / "s.json.leases/lock", 100).value() == "nor this");
    CHECK_FALSE(std::filesystem::exists(dir / "s.json.leases/rank-0.lease"));
  }

  TEST_CASE("resuming keeps the figures of points that are still planned") {
    test::ScratchDir dir;
    replay::Sweep old = Planned();
    Predict(old, 2, 9);
    Write(dir / "s.json", old);
    REQUIRE(SweepFile::Open(At(dir / "s.json", true), Planned()).ok());
    CHECK(ReadSweepFile(dir / "s.json").value().points[2].predicted->low == 9);
    CHECK_FALSE(ReadSweepFile(dir / "s.json").value().points[0].predicted.has_value());
    // A file that is not there yet is begun.
    CHECK(SweepFile::Open(At(dir / "new.json", true), Planned()).ok());
  }

  TEST_CASE("a file cut off within a point keeps those before it") {
    test::ScratchDir dir;
    replay::Sweep old = Planned();
    for (size_t i = 0; i < 3; ++i) Predict(old, i, 5);
    const std::string text = WriteSweep(old);
    const size_t third = text.find("\"decode.parallelism\":4");
    std::ofstream(dir / "s.json") << text.substr(0, third + 30);
    REQUIRE(SweepFile::Open(At(dir / "s.json", true), Planned()).ok());
    const auto now = ReadSweepFile(dir / "s.json").value();
    REQUIRE(now.points.size() == 3);
    CHECK(now.points[0].predicted.has_value());
    CHECK(now.points[1].predicted.has_value());
    CHECK_FALSE(now.points[2].predicted.has_value());
    CHECK(now.base_point == 1);
  }

  TEST_CASE("only a finished sweep is overwritten") {
    test::ScratchDir dir;
    replay::Sweep half = Planned();
    Predict(half, 0, 5);
    Write(dir / "half.json", half);
    const Error error = OpenFault(At(dir / "half.json"), Planned());
    CHECK(error.kind == ErrorKind::kUsage);
    CHECK(error.hint.find("--resume") != std::string::npos);
    CHECK(ReadSweepFile(dir / "half.json").value().points[0].predicted.has_value());

    std::ofstream(dir / "notes.txt") << "not to be lost";
    CHECK(OpenFault(At(dir / "notes.txt"), Planned()).kind == ErrorKind::kUsage);
    CHECK(OpenFault(At(dir / "notes.txt", true), Planned()).kind == ErrorKind::kInput);

    for (size_t i = 0; i < 3; ++i) Predict(half, i, 5);
    Write(dir / "whole.json", half);
    CHECK(SweepFile::Open(At(dir / "whole.json"), Planned()).ok());
    Write(dir / "empty.json", Planned());
    CHECK(SweepFile::Open(At(dir / "empty.json"), Planned()).ok());
  }

  TEST_CASE("a sweep of something else is not resumed") {
    test::ScratchDir dir;
    Write(dir / "s.json", Planned());
    replay::Sweep other = Planned();
    other.recorded_ns += 1;
    CHECK(OpenFault(At(dir / "s.json", true), other).what.find("another run") != std::string::npos);
    other = Planned();
    other.kind = replay::SweepKind::kVerify;
    CHECK(OpenFault(At(dir / "s.json", true), other).what.find("another kind") !=
          std::string::npos);
    other = Planned();
    other.emulated = true;
    CHECK(OpenFault(At(dir / "s.json", true), other).what.find("--emulate") != std::string::npos);
    other = Planned();
    other.first_epoch = true;
    CHECK(OpenFault(At(dir / "s.json", true), other).what.find("--first-epoch") !=
          std::string::npos);
    CHECK(replay::ReadSweep(replay::WriteSweep(other), "s.json").value().sweep.first_epoch);
    other = Planned();
    other.points.pop_back();
    CHECK(OpenFault(At(dir / "s.json", true), other).what.find("decode.parallelism=4") !=
          std::string::npos);
    other = Planned();
    other.repeats = 9;
    other.mode = SweepMode::kBoth;
    CHECK(SweepFile::Open(At(dir / "s.json", true), other).ok());
  }

  TEST_CASE("two processes cannot both start a sweep, ranks wait for rank 0") {
    test::ScratchDir dir;
    auto first = SweepFile::Open(At(dir / "s.json"), Planned());
    REQUIRE(first.ok());
    SweepFileOptions rank_1 = At(dir / "s.json");
    rank_1.job = {1, 2, 2, "job 7"};
    rank_1.stop_requested = [] { return true; };
    CHECK(OpenFault(rank_1, Planned()).what.find("rank 0") != std::string::npos);
    SweepFileOptions rank_0 = At(dir / "t.json");
    rank_0.job = {0, 2, 2, "job 7"};
    auto zero = SweepFile::Open(rank_0, Planned());
    REQUIRE(zero.ok());
    rank_1.path = dir / "t.json";
    CHECK(SweepFile::Open(rank_1, Planned()).ok());
    CHECK(ReadSweepFile(dir / "t.json").value().job == "job 7");
  }

  TEST_CASE("a missing folder is an error that names it") {
    CHECK(OpenFault(At("/no/such/folder/s.json"), Planned()).kind == ErrorKind::kRun);
  }
}
