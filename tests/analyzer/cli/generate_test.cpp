// `stallscope generate` as a user runs it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;

namespace {

ProgramResult Generate(const std::string& folder, std::vector<std::string> more) {
  more.insert(more.begin(), {"generate", folder});
  return RunStallscope(more);
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("generate writes its files and the manifest, and prints one line") {
    ScratchDir dir;
    const ProgramResult made = Generate(
        dir / "set", {"--images", "6", "--size", "32x24", "--classes", "2", "--shards", "2"});
    CHECK(made.exit_code == 0);
    CHECK(made.err.empty());
    CHECK(made.out.find("6 images of 2 classes in 2 files") != std::string::npos);
    CHECK(NamesIn(dir / "set") == std::set<std::string>{"data-00000-of-00002.tfrecord",
                                                        "data-00001-of-00002.tfrecord",
                                                        "manifest.json"});
    const ProgramResult texts = Generate(dir / "texts", {"--images", "6", "--text", "8"});
    CHECK(texts.exit_code == 0);
    CHECK(texts.out.find("6 texts of 10 classes") != std::string::npos);
    std::ifstream text(dir / "set/manifest.json");
    const auto manifest = nlohmann::json::parse(text);
    CHECK(manifest["format"] == "tfrecord");
    CHECK(manifest["size"] == "32x24");
    CHECK(manifest["files"].size() == 2);
    for (const char* format : {"images", "csv", "hdf5"}) {
      CHECK(Generate(dir / format, {"--format", format, "--images", "2", "--size", "8x8"})
                .exit_code == 0);
    }
  }

  TEST_CASE("generate exits 2 on bad values, 5 on a folder that it cannot create") {
    ScratchDir dir;
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--images", "0"},
                                                  {"--images", "-1"},
                                                  {"--size", "500"},
                                                  {"--size", "0x10"},
                                                  {"--size", "10x10x"},
                                                  {"--classes", "0"},
                                                  {"--shards", "0"},
                                                  {"--format", "tar"}}) {
      const ProgramResult refused = Generate(dir / "set", wrong);
      CHECK(refused.exit_code == 2);
      CHECK_FALSE(refused.err.empty());
      CHECK_FALSE(std::filesystem::exists(dir / "set"));
    }
    const ProgramResult nowhere = Generate("/proc/no/set", {"--images", "1"});
    CHECK(nowhere.exit_code == 5);
    CHECK(nowhere.err.find("/proc/no/set") != std::string::npos);
    std::ofstream(dir / "thesis.txt") << "years of work";
    const ProgramResult full = Generate(dir.path(), {"--images", "1"});
    CHECK(full.exit_code == 2);
    CHECK(full.err.find("thesis.txt") != std::string::npos);
    CHECK(NamesIn(dir.path()) == std::set<std::string>{"thesis.txt"});
  }
}
