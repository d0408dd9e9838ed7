// The samples that other profilers recorded read as sample_traces/README.md says.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>

#include "analyzer/findings/findings.h"
#include "tests/analyzer/importers/xplane/read.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

struct Judged {
  model::Run run;
  attribution::Attribution attribution;
  findings::Verdict verdict;
};

Judged Judge(const std::string& file) {
  auto run = test::ReadXPlaneFile(test::SourceDir() + "/sample_traces/" + file);
  REQUIRE(run.ok());
  Judged judged{std::move(run).value(), {}, {}};
  judged.attribution = attribution::Attribute(judged.run);
  judged.verdict = findings::Judge(judged.run, judged.attribution);
  return judged;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the samples of XPlane are judged as their page says") {
    const auto page = ReadWholeFile(test::SourceDir() + "/sample_traces/README.md", 1 << 20);
    REQUIRE(page.ok());
    const std::regex row(R"(\| `([^`]+\.xplane\.pb\.gz)` \| xplane \|.*\| ([^|]+) \|)");
    size_t rows = 0;
    std::istringstream lines(page.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch cells;
      if (!std::regex_match(line, cells, row)) continue;
      ++rows;
      CAPTURE(line);
      CHECK(Judge(cells[1].str()).verdict.text == cells[2].str());
    }
    CHECK(rows == 3);
  }

  TEST_CASE("the slow pipeline is told to map in parallel and to prefetch") {
    const Judged slow = Judge("tf_images_slow.xplane.pb.gz");
    findings::Case c{slow.run, slow.attribution, slow.verdict, std::nullopt};
    const std::vector<findings::Finding> found = findings::Find(c, true);
    const auto code = [&](const std::string& id) -> std::string {
      const auto at = std::find_if(found.begin(), found.end(),
                                   [&](const findings::Finding& f) { return f.id == id; });
      if (at == found.end() || !at->recommendation.has_value()) return "no " + id;
      return at->recommendation->code.tf_data;
    };
    CHECK(code("map-parallelism").find("num_parallel_calls") != std::string::npos);
    CHECK(code("prefetch").find("prefetch") != std::string::npos);
  }
}
