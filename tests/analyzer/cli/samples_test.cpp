// Every sample trace is judged as its row in sample_traces/README.md says, and reported in every
// form.
#include <doctest/doctest.h>

#include <regex>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::ReadWholeFile;
using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::SourceDir;

TEST_SUITE("fast") {
  TEST_CASE("the sample traces are judged as their page says") {
    const std::string folder = SourceDir() + "/sample_traces/";
    const auto page = ReadWholeFile(folder + "README.md", 1 << 20);
    REQUIRE(page.ok());
    const std::regex row(R"(\| `([^`]+\.sst)` \|.* dropped \| (.+) \|)");
    size_t rows = 0;
    std::istringstream lines(page.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) continue;
      ++rows;
      CAPTURE(line);
      const std::string trace = folder + cells[1].str();
      for (const char* const form : {"text", "json", "markdown", "html", "junit", "sarif"}) {
        CAPTURE(form);
        const ProgramResult report =
            RunStallscope({"analyze", trace, "--no-price", "--format", form});
        CHECK(report.exit_code == 0);
        CHECK(report.err.empty());
        CHECK(report.out.find(cells[2].str()) != std::string::npos);
      }
    }
    CHECK(rows >= 14);
  }
}
