#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/report/describe.h"
#include "analyzer/report/html/forms.h"
#include "analyzer/report/html/html.h"
#include "analyzer/report/junit.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/sarif.h"
#include "tests/analyzer/report/golden.h"
#include "tests/analyzer/report/sample_reports.h"

using namespace stallscope;
using nlohmann::json;

namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}
bool Contains(const std::string& text, const std::string& part) { return Count(text, part) != 0; }

report::CheckRow Check(report::CheckLevel level, report::Outcome outcome) {
  return {"breakdown.input_stall.fraction",
          "at most 0.05",
          level,
          outcome,
          0.4,
          0.39,
          0.41,
          "breakdown.input_stall.fraction is 40.0% (39.0% to 41.0%); must be at most 5%"};
}

report::Report WithBudget() {
  using report::CheckLevel;
  using report::Outcome;
  report::Report report = test::InputBoundReport();
  report.budget = {
      Check(CheckLevel::kError, Outcome::kFail), Check(CheckLevel::kWarn, Outcome::kFail),
      Check(CheckLevel::kError, Outcome::kInconclusive), Check(CheckLevel::kError, Outcome::kPass)};
  return report;
}

// Every tag that is opened is closed, and nothing is there that is no tag, entity or character.
void CheckWellFormed(const std::string& xml, const std::set<std::string>& empty_tags) {
  std::vector<std::string> open;
  for (size_t at = 0; (at = xml.find('<', at)) != std::string::npos;) {
    const size_t end = xml.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end;
    REQUIRE(tag.find('<') == std::string::npos);
    if (tag.starts_with("!") || tag.starts_with("?")) continue;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with("/")) {
      REQUIRE_FALSE(open.empty());
      REQUIRE("/" + open.back() == tag);
      open.pop_back();
    } else if (!tag.ends_with("/") && !empty_tags.contains(name)) {
      open.push_back(name);
    }
  }
  CHECK(open.empty());
  CHECK(std::none_of(xml.begin(), xml.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
  }));
}

// What is left of Markdown when its blocks and spans of code are taken out.
std::string WithoutCode(const std::string& markdown) {
  std::string rest;
  for (size_t at = 0; at < markdown.size();) {
    if (markdown[at] == '\\') {
      rest += markdown.substr(at, 2);
      at += 2;
    } else if (markdown[at] != '`') {
      rest += markdown[at++];
    } else {
      const size_t end = markdown.find_first_not_of('`', at);
      const std::string fence = markdown.substr(at, end - at);
      size_t close = markdown.find(fence, end);
      // A longer run of backticks is part of the code.
      while (close != std::string::npos && markdown.substr(close + fence.size(), 1) == "`") {
        close = markdown.find(fence, markdown.find_first_not_of('`', close));
      }
      REQUIRE(close != std::string::npos);
      at = close + fence.size();
    }
  }
  return rest;
}

const std::set<std::string> kHtmlEmpty = {"meta", "link", "br"};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("golden pages") {
    test::MatchesGolden("input_bound.md", report::WriteMarkdown(report::DocumentOf(WithBudget())));
    test::MatchesGolden("job.md", report::WriteMarkdown(report::DocumentOf(test::JobReport(2))));
    test::MatchesGolden("slower.md",
                        report::WriteMarkdown(report::DocumentOf(test::SlowerComparison())));
    test::MatchesGolden("budget.junit.xml", report::WriteJunit(WithBudget()));
    test::MatchesGolden("budget.sarif", report::WriteSarif(WithBudget()));
  }

  TEST_CASE("sarif: a job's finding is at the line of its source, relative to the checkout") {
    report::Report report = test::JobReport(2);
    const auto place = [&] {
      const json run = json::parse(report::WriteSarif(report))["runs"][0];
      json found = run["results"][0]["locations"][0]["physicalLocation"];
      const json& artifact = found["artifactLocation"];
      CHECK(run["artifacts"][artifact["index"].get<size_t>()]["location"]["uri"] ==
            artifact["uri"]);
      CHECK(run["results"][0]["properties"]["diff"].get<std::string>().starts_with("--- a/"));
      return found;
    };
    CHECK(place()["artifactLocation"]["uri"] == "train.py");
    CHECK(place()["region"] == json{{"startLine", 41}});
    report.findings[0].where.extent = {10, 43, 2};
    CHECK(place()["region"] ==
          json{{"startLine", 41}, {"startColumn", 10}, {"endLine", 43}, {"endColumn", 2}});
    report.findings[0].where.extent = {0, 43, 0};
    CHECK(place()["region"] == json{{"startLine", 41}, {"endLine", 43}});
    report.job.checkout = "/home";
    CHECK(place()["artifactLocation"]["uri"] == "u/train.py");
    report.job.checkout = "/home/u/train";  // another one, beside it
    CHECK(place()["artifactLocation"]["uri"] == "train.py");
    report.folder = "/home/us";
    CHECK(place()["artifactLocation"]["uri"] == "file:///home/u/train.py");
    report.findings[0].where = {};
    CHECK(place()["artifactLocation"]["uri"] == "train.sst");
    CHECK(place()["region"] == json{{"startLine", 1}});
  }

  TEST_CASE("sarif: a failed check is at the line of the first finding that has one") {
    using report::CheckLevel;
    using report::Outcome;
    report::Report report = test::JobReport(2);
    report.findings.insert(report.findings.begin(), report.findings[0]);
    report.findings[0].where = {};
    report.budget = std::vector{Check(CheckLevel::kError, Outcome::kFail)};
    const auto result = [&] {
      return json::parse(report::WriteSarif(report))["runs"][0]["results"].back();
    };
    const auto uri = [](const json& location) {
      return location["physicalLocation"]["artifactLocation"]["uri"].get<std::string>();
    };
    const json failed = result();
    CHECK(failed["ruleId"] == "budget");
    CHECK(uri(failed["locations"][0]) == "train.py");
    CHECK(failed["locations"][0]["physicalLocation"]["region"] == json{{"startLine", 41}});
    REQUIRE(failed["relatedLocations"].size() == 1);
    CHECK(uri(failed["relatedLocations"][0]) == "train.sst");
    CHECK(failed["relatedLocations"][0]["message"]["text"] == "The run that was checked");

    const auto stays = [&] {
      const json other = result();
      CHECK(uri(other["locations"][0]) == "train.sst");
      CHECK_FALSE(other.contains("relatedLocations"));
    };
    report.budget->front().metric = "trust.dropped";
    stays();
    report.budget = std::vector{Check(CheckLevel::kError, Outcome::kInconclusive)};
    stays();
    report.budget = std::vector{Check(CheckLevel::kError, Outcome::kFail)};
    for (report::FindingRow& finding : report.findings) {
      finding.severity = findings::Severity::kInfo;
    }
    stays();
    report.findings.clear();
    stays();
  }

  TEST_CASE("markdown: a suggestion has only the new lines") {
    const std::string page = report::WriteMarkdown(report::DocumentOf(test::JobReport(2)));
    CHECK(Contains(page,
                   "`train.py:41`:\n\n```suggestion\nloader = DataLoader(data, "
                   "num_workers=4)\n```\n"));
    CHECK(Contains(page, "```diff\n--- a/train.py\n"));
    CHECK(Contains(page, "set in\\_order=False by hand") ==
          !Contains(page, "set in_order=False by hand"));
  }

  TEST_CASE("html: one page without scripts, addresses or unescaped names") {
    const std::string page = report::WriteHtml(report::DocumentOf(test::InputBoundReport()));
    CHECK(page.starts_with("<!doctype html>"));
    CHECK_FALSE(Contains(page, "<script"));
    CHECK_FALSE(Contains(page, "http://"));
    CHECK_FALSE(Contains(page, "https://"));
    CHECK_FALSE(Contains(page, "url("));
    CHECK_FALSE(Contains(page, "@import"));
    CHECK(Contains(page, "prefers-color-scheme: dark"));
    CHECK(Contains(page, "input-bound: decode (cpu)"));
    CHECK(Contains(page, "<summary>tf.data</summary>"));
    CHECK(Count(page, "<svg") == 4);
    CHECK(page.size() < 400'000);
    CheckWellFormed(page, kHtmlEmpty);
    const std::string job = report::WriteHtml(report::DocumentOf(test::JobReport(2)));
    CheckWellFormed(job, kHtmlEmpty);
    CHECK(Contains(job, "was killed by SIGKILL"));
    CHECK(Contains(job, "constructed at /home/u/train.py:41"));
    CheckWellFormed(report::WriteHtml(report::DocumentOf(test::InconclusiveReport())), kHtmlEmpty);
    CheckWellFormed(report::WriteHtml(report::DocumentOf(report::Report{})), kHtmlEmpty);
    CheckWellFormed(report::WriteHtml(report::DocumentOf(test::SlowerComparison())), kHtmlEmpty);
  }

  TEST_CASE("hostile names are shown and never obeyed") {
    for (const std::string& name : test::NastyTexts()) {
      const report::Report report = test::ReportNamed(name);
      const std::string page = report::WriteHtml(report::DocumentOf(report));
      CHECK_FALSE(Contains(page, "<script"));
      CHECK_FALSE(Contains(page, "<img"));
      CheckWellFormed(page, kHtmlEmpty);
      CheckWellFormed(report::WriteJunit(report), {});
      const std::string markdown = WithoutCode(report::WriteMarkdown(report::DocumentOf(report)));
      for (const char* part :
           {"\n# heading", "@someone", "<script", "<img", "[link]", "**bold**"}) {
        CHECK_FALSE_MESSAGE(Contains(markdown, part), std::string(part) << " in:\n" << markdown);
      }
      const json log = json::parse(report::WriteSarif(report), nullptr, false);
      REQUIRE_FALSE(log.is_discarded());
      for (const json& result : log["runs"][0]["results"]) {
        CHECK_FALSE(Contains(result["message"]["text"], "[link]("));
      }
    }
  }

  TEST_CASE("a stage graph with a cycle, a missing input or an isolated stage terminates") {
    report::Report report = test::InputBoundReport();
    report.stages[0].inputs = {"prefetch", "nobody", "read"};
    CheckWellFormed(report::WriteHtml(report::DocumentOf(report)), kHtmlEmpty);
    report.stages.resize(1);
    CheckWellFormed(report::WriteHtml(report::DocumentOf(report)), kHtmlEmpty);
  }

  TEST_CASE("junit: one test case per check") {
    const std::string strict = report::WriteJunit(WithBudget());
    CHECK(Count(strict, "<testcase ") == 4);
    CHECK(Count(strict, "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"0\"") == 2);
    CHECK(Count(strict, "<failure ") == 1);
    CHECK(Contains(strict, "warning: breakdown.input_stall.fraction is 40.0%"));
    const std::string lenient = report::WriteJunit(WithBudget(), false);
    CHECK(Contains(lenient, "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  }

  TEST_CASE("junit: without a budget nothing fails") {
    const std::string bound = report::WriteJunit(test::InputBoundReport());
    CHECK(Contains(bound, "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\""));
    CHECK(Contains(bound, "name=\"input-bound: decode (cpu)\""));
    CHECK(Contains(bound, "name=\"map-parallelism\""));
    CHECK(Contains(report::WriteJunit(test::InconclusiveReport()), "skipped=\"1\""));
    CHECK(Contains(report::WriteJunit(test::SlowerComparison()), "failures=\"1\""));
  }

  // What the 2.1.0 schema requires of what is written here.
  TEST_CASE("sarif: the log follows the schema") {
    report::Report report = WithBudget();
    report.trace = "runs/a b.sst";
    const json log = json::parse(report::WriteSarif(report, {.tool_version = "0.1.0"}));
    CHECK(log["version"] == "2.1.0");
    CHECK(log["$schema"].is_string());
    REQUIRE(log["runs"].size() == 1);
    const json& run = log["runs"][0];
    CHECK(run["tool"]["driver"]["name"] == "stallscope");
    const json& rules = run["tool"]["driver"]["rules"];
    std::set<std::string> ids;
    for (const json& rule : rules) {
      CHECK(ids.insert(rule["id"]).second);
      for (const char* part : {"shortDescription", "fullDescription", "help"}) {
        CHECK_FALSE(rule[part]["text"].get<std::string>().empty());
      }
      CHECK_FALSE(rule["help"]["markdown"].get<std::string>().empty());
    }
    CHECK(ids == std::set<std::string>{"map-parallelism", "cache", "budget"});
    REQUIRE(run["results"].size() == 5);  // the finding of severity info is none
    for (const json& result : run["results"]) {
      CHECK(rules.at(result["ruleIndex"].get<size_t>())["id"] == result["ruleId"]);
      CHECK(std::set<std::string>{"error", "warning", "note", "none"}.contains(result["level"]));
      CHECK_FALSE(result["message"]["text"].get<std::string>().empty());
      const json& place = result["locations"][0]["physicalLocation"];
      CHECK(place["artifactLocation"]["uri"] == "runs/a%20b.sst");
      CHECK(place["region"]["startLine"] == 1);
      const size_t artifact = place["artifactLocation"]["index"];
      CHECK(run["artifacts"].at(artifact)["location"]["uri"] == "runs/a%20b.sst");
    }
    // With a budget, only what fails it is an error.
    CHECK(run["results"][0]["level"] == "warning");
    report::Report without = report;
    without.budget.reset();
    CHECK(json::parse(report::WriteSarif(without))["runs"][0]["results"][0]["level"] == "error");
    const std::string help = rules[0]["help"]["text"];
    CHECK(Contains(help, R"("path":"decode.parallelism")"));
    CHECK(Contains(help, "DataLoader"));
    CHECK(run["results"][0]["locations"][0]["logicalLocations"][0]["name"] == "decode");
    CHECK(run["results"][2]["level"] == "error");    // a failed check
    CHECK(run["results"][3]["level"] == "warning");  // of level warn
    const json spec = json::parse(report::WriteSarif(report, {.spec_path = "specs/a.json"}));
    CHECK(spec["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
              ["uri"] == "specs/a.json");
  }

  TEST_CASE("sarif: nothing to say is an empty list") {
    const json log = json::parse(report::WriteSarif(test::BalancedReport()));
    CHECK(log["runs"][0]["results"] == json::array());
    CHECK(log["runs"][0]["tool"]["driver"]["rules"] == json::array());
  }

  TEST_CASE("sarif: a comparison has one result at most") {
    const json slower = json::parse(report::WriteSarif(test::SlowerComparison()));
    CHECK(slower["runs"][0]["results"].size() == 1);
    CHECK(slower["runs"][0]["results"][0]["ruleId"] == "regression");
    const json unsure = json::parse(
        report::WriteSarif(compare::Comparison{}, {.spec_path = "", .trace = "new run.sst"}));
    REQUIRE(unsure["runs"][0]["results"].size() == 1);
    const json& result = unsure["runs"][0]["results"][0];
    CHECK(result["ruleId"] == "inconclusive-comparison");
    CHECK(result["level"] == "warning");
    CHECK(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "new%20run.sst");
    for (const auto answer : {compare::Answer::kFaster, compare::Answer::kNoRealChange}) {
      compare::Comparison well;
      well.answer = answer;
      CHECK(json::parse(report::WriteSarif(well))["runs"][0]["results"].empty());
    }
  }

  TEST_CASE("sarif: levels follow the budget") {
    using report::CheckLevel;
    using report::Outcome;
    const auto level = [](CheckLevel of_check, Outcome outcome) {
      report::Report report = test::BalancedReport();
      report.findings.clear();
      report.budget = std::vector{Check(of_check, outcome)};
      report.budget->front().metric = "stages[decode].utilization";
      const json results = json::parse(report::WriteSarif(report))["runs"][0]["results"];
      if (results.empty()) return std::string();
      CHECK(results[0]["locations"][0]["logicalLocations"][0]["name"] == "decode");
      return results[0]["level"].get<std::string>();
    };
    CHECK(level(CheckLevel::kError, Outcome::kFail) == "error");
    CHECK(level(CheckLevel::kError, Outcome::kInconclusive) == "warning");
    CHECK(level(CheckLevel::kWarn, Outcome::kFail) == "warning");
    CHECK(level(CheckLevel::kWarn, Outcome::kInconclusive) == "note");
    CHECK(level(CheckLevel::kError, Outcome::kPass).empty());
  }

  TEST_CASE("every form has a word, and writes something of everything") {
    CHECK_FALSE(report::FormOf("yaml").has_value());
    for (const std::string_view word : report::kFormWords) {
      const report::Form form = *report::FormOf(word);
      CHECK_FALSE(report::Write(test::InputBoundReport(), form).empty());
      CHECK_FALSE(report::Write(report::Report{}, form).empty());
      CHECK_FALSE(report::Write(test::SlowerComparison(), form).empty());
    }
  }
}
