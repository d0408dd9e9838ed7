// Every sample trace reads as its row in sample_traces/README.md says, in this version as in the
// one that recorded it.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/model/loader.h"
#include "tests/support/paths.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

TEST_SUITE("fast") {
  TEST_CASE("sample traces contain what their page says") {
    const std::string folder = test::SourceDir() + "/sample_traces/";
    const auto page = ReadWholeFile(folder + "README.md", 1 << 20);
    REQUIRE(page.ok());
    const std::regex row(
        R"(\| `([^`]+\.sst)` \| ([0-9.]+) \|.*\| (\d+) spans, (\d+) steps, (\d+) tracks, (\d+) events stored, (\d+) dropped \|.*\|)");
    size_t rows = 0;
    std::istringstream lines(page.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) continue;
      ++rows;
      CAPTURE(line);
      const auto run = model::LoadTrace(folder + cells[1].str());
      REQUIRE(run.ok());
      CHECK(run.value().format_version == cells[2].str());
      CHECK(std::to_string(model::CountSpans(run.value())) == cells[3].str());
      CHECK(std::to_string(run.value().rows.steps.size()) == cells[4].str());
      CHECK(std::to_string(run.value().tracks.size()) == cells[5].str());
      CHECK(std::to_string(run.value().quality.stored.value_or(0)) == cells[6].str());
      CHECK(std::to_string(run.value().quality.dropped) == cells[7].str());
      CHECK(run.value().quality.Complete());
    }
    size_t samples = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      samples += entry.path().extension() == ".sst";
    }
    CHECK(samples == rows);
    CHECK(samples > 0);
  }
}
