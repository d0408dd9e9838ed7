// `stallscope convert` as a user runs it.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

TEST_SUITE("fast") {
  TEST_CASE("convert writes a data set that record can read, and prints one line") {
    ScratchDir dir;
    REQUIRE(RunStallscope({"generate", dir / "csv", "--format", "csv", "--images", "8", "--size",
                           "16x16", "--classes", "2"})
                .exit_code == 0);
    for (const char* const format : {"tfrecord", "raw", "images", "hdf5", "csv"}) {
      CAPTURE(format);
      const ProgramResult made =
          RunStallscope({"convert", dir / "csv", "-o", dir / format + std::string("-set"),
                         "--format", format, "--shards", "2"});
      CHECK(made.exit_code == 0);
      CHECK(made.out.find("8 images of 2 classes") != std::string::npos);
      CHECK(std::filesystem::exists(dir / format + std::string("-set/manifest.json")));
    }
  }

  TEST_CASE("convert: exit codes") {
    ScratchDir dir;
    const auto convert = [&](const std::string& from, const std::string& to,
                             std::vector<std::string> more) {
      more.insert(more.begin(), {"convert", from, "-o", to});
      return RunStallscope(more);
    };
    REQUIRE(RunStallscope({"generate", dir / "in", "--images", "4", "--size", "8x8"}).exit_code ==
            0);
    CHECK(convert(dir / "in", dir / "out", {}).exit_code == 2);
    CHECK(convert(dir / "in", dir / "out", {"--format", "tar"}).exit_code == 2);
    CHECK(convert(dir / "in", dir / "out", {"--format", "raw", "--shards", "0"}).exit_code == 2);
    CHECK(convert(dir / "in", dir / "in", {"--format", "raw"}).exit_code == 2);
    const ProgramResult missing = convert(dir / "nowhere", dir / "out", {"--format", "raw"});
    CHECK(missing.exit_code == 3);
    CHECK(missing.err.find("nowhere") != std::string::npos);
    CHECK(convert(dir / "in", "/proc/no/set", {"--format", "raw"}).exit_code == 5);
    std::filesystem::resize_file(dir / "in/data-00000-of-00004.tfrecord", 20);
    CHECK(convert(dir / "in", dir / "out", {"--format", "raw"}).exit_code == 5);
    CHECK_FALSE(std::filesystem::exists(dir / "out"));
  }
}
