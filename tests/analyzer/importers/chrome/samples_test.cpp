// The samples that PyTorch's profiler recorded read as sample_traces/README.md says.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/findings/findings.h"
#include "analyzer/importers/chrome/import.h"
#include "tests/support/paths.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

struct Judged {
  model::Run run;
  attribution::Attribution attribution;
  findings::Verdict verdict;
  std::vector<findings::Finding> found;
};

Judged Judge(const std::string& file) {
  auto source = importers::ByteSource::Open(test::SourceDir() + "/sample_traces/" + file);
  REQUIRE(source.ok());
  auto run = importers::chrome::ReadTraceEvents(*source.value());
  REQUIRE(run.ok());
  Judged judged{std::move(run).value(), {}, {}, {}};
  judged.attribution = attribution::Attribute(judged.run);
  judged.verdict = findings::Judge(judged.run, judged.attribution);
  const findings::Case c{judged.run, judged.attribution, judged.verdict, std::nullopt};
  judged.found = findings::Find(c, true);
  return judged;
}

const findings::Finding* FindingOf(const Judged& judged, const std::string& id) {
  const auto at = std::find_if(judged.found.begin(), judged.found.end(),
                               [&](const findings::Finding& f) { return f.id == id; });
  return at == judged.found.end() ? nullptr : &*at;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the samples of PyTorch are judged as their page says") {
    const auto page = ReadWholeFile(test::SourceDir() + "/sample_traces/README.md", 1 << 20);
    REQUIRE(page.ok());
    const std::regex row(R"(\| `([^`]+\.json\.gz)` \| kineto \|.*\| ([^|]+) \|)");
    size_t rows = 0;
    std::istringstream lines(page.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) continue;
      ++rows;
      CAPTURE(line);
      const Judged judged = Judge(cells[1].str());
      CHECK(judged.verdict.text == cells[2].str());
      CHECK(judged.run.rows.steps.size() == 24);
      CHECK(judged.run.quality.warnings.empty());
    }
    CHECK(rows == 2);
  }

  TEST_CASE("the loader without workers is told to have some, and the one with two is not") {
    const Judged slow = Judge("pytorch_workers_0.json.gz");
    const findings::Finding* const workers = FindingOf(slow, "loader-workers");
    REQUIRE(workers != nullptr);
    REQUIRE(workers->recommendation.has_value());
    CHECK(workers->recommendation->code.pytorch.find("num_workers") != std::string::npos);
    REQUIRE(workers->recommendation->gain.has_value());
    // The twin with two workers took 0.476 of the time.
    CHECK(workers->recommendation->gain->low <= 1 / 0.476);
    CHECK(workers->recommendation->gain->high > 1.5);
    CHECK(FindingOf(Judge("pytorch_workers_2.json.gz"), "loader-workers") == nullptr);
  }
}
