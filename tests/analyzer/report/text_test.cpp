#include "analyzer/report/text.h"
#include "analyzer/base/escape.h"

#include <doctest/doctest.h>

#include <sstream>

#include "analyzer/report/layout.h"
#include "analyzer/words/words.h"
#include "tests/analyzer/report/golden.h"
#include "tests/analyzer/report/sample_reports.h"

using namespace stallscope;
using report::TextOptions;
using report::WriteText;
using test::MatchesGolden;

namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Colours taken out.
std::string Plain(std::string text) {
  for (size_t at = 0; (at = text.find("\x1b[", at)) != std::string::npos;) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  return text;
}

void CheckFits(const std::string& text) {
  for (const std::string& line : LinesOf(text)) {
    CAPTURE(line);
    CHECK(words::TextWidth(line) <= 100);
    CHECK(Printable(line) == line);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the text opens with what can be trusted, then the verdict alone on its line") {
    const auto lines = LinesOf(WriteText(test::InputBoundReport()));
    REQUIRE(lines.size() > 3);
    CHECK(lines[0] == "complete: 41,726 spans, none dropped, no damage");
    CHECK(lines[2] == "input-bound: decode (cpu)");
    CHECK(LinesOf(WriteText(test::BalancedReport()))[2] == "balanced");
    const auto broken = LinesOf(WriteText(test::InconclusiveReport()));
    CHECK(broken[0].starts_with("incomplete: 40 spans read, 9,000 events dropped"));
    CHECK(std::find(broken.begin(), broken.end(), "inconclusive") != broken.end());
  }

  TEST_CASE("golden texts") {
    MatchesGolden("input_bound.txt", WriteText(test::InputBoundReport()));
    MatchesGolden("balanced.txt", WriteText(test::BalancedReport()));
    MatchesGolden("inconclusive.txt", WriteText(test::InconclusiveReport()));
    MatchesGolden("slower.txt", WriteText(test::SlowerComparison()));
  }

  TEST_CASE("colours add nothing but colours") {
    for (const auto& report : {test::InputBoundReport(), test::InconclusiveReport()}) {
      const std::string colored = WriteText(report, {.colors = true});
      CHECK(colored.find("\x1b[") != std::string::npos);
      CHECK(Plain(colored) == WriteText(report));
    }
    CHECK(Plain(WriteText(test::SlowerComparison(), {.colors = true})) ==
          WriteText(test::SlowerComparison()));
  }

  TEST_CASE("no line is wider than 100 columns or steers the terminal, whatever the names") {
    for (const std::string& name : test::NastyTexts()) {
      const report::Report report = test::ReportNamed(name);
      CheckFits(WriteText(report));
      CheckFits(Plain(WriteText(report, {.colors = true, .code = report::Framework::kTfData})));
    }
    CheckFits(WriteText(report::Report{}));
    CheckFits(WriteText(compare::Comparison{}));
  }

  TEST_CASE("a path that does not fit in the run's line has its own, and keeps the file's name") {
    report::Report report = test::InputBoundReport();
    const auto has_line = [](const std::string& text, const std::string& line) {
      const auto lines = LinesOf(text);
      return std::find(lines.begin(), lines.end(), line) != lines.end();
    };
    const std::string name = report.name;
    report.trace = "/data/" + std::string(60, 'd') + "/worker0.pt.trace.json.gz";
    CHECK(has_line(WriteText(report), "  " + report.trace));
    report.trace = "/data/" + std::string(120, 'd') + "/worker0.pt.trace.json.gz";
    const std::string text = WriteText(report);
    CheckFits(text);
    CHECK(text.find("d/worker0.pt.trace.json.gz\n  " + name + ", ") != std::string::npos);
    // One that fits stays in it.
    report.trace = "run.sst";
    CHECK(WriteText(report).find(name + ", run.sst: ") != std::string::npos);
  }

  TEST_CASE("the code of one framework, or the first line for each") {
    const auto report = test::InputBoundReport();
    const std::string brief = WriteText(report);
    CHECK(brief.find("tf.data  dataset = dataset.map( …\n") != std::string::npos);
    CHECK(brief.find("pytorch  loader = DataLoader(") != std::string::npos);
    const std::string whole = WriteText(report, {.code = report::Framework::kTfData});
    CHECK(whole.find("       dataset = dataset.map(\n           decode,\n") != std::string::npos);
    CHECK(whole.find("DataLoader") == std::string::npos);
  }
}
