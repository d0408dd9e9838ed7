#include "analyzer/report/text.h"

#include <doctest/doctest.h>

#include <sstream>

#include "analyzer/base/escape.h"
#include "analyzer/report/describe.h"
#include "analyzer/words/words.h"
#include "tests/analyzer/report/golden.h"
#include "tests/analyzer/report/sample_reports.h"

using namespace stallscope;
using report::DocumentOf;
using report::WriteText;
using test::MatchesGolden;

namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without colors.
std::string Plain(std::string text) {
  for (size_t at = 0; (at = text.find("\x1b[", at)) != std::string::npos;) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  return text;
}

// Only what is meant to be copied may be wide.
void CheckFits(const std::string& text, const std::string& path = "") {
  for (const std::string& line : LinesOf(text)) {
    CAPTURE(line);
    const bool diff = line.starts_with('+') || line.starts_with('-') || line.starts_with("@@");
    CHECK((diff ? PrintableLines(line) : Printable(line)) == line);  // source has tabs
    const std::string rest = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool code = diff || rest.starts_with("to apply: ") || rest.starts_with("patch ") ||
                      rest.starts_with("command: ") || rest.starts_with("folder: ") ||
                      rest.starts_with("what the new side changes ") || rest.starts_with("[{") ||
                      rest.starts_with("{") || rest.starts_with("tf.data  ") ||
                      rest.starts_with("pytorch  ") || rest.starts_with("dali     ") ||
                      rest.starts_with("grain    ");
    if (!code && line != "  " + Printable(path)) CHECK(words::TextWidth(line) <= 80);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("text: evaluation and checkpoints have a table, if there are any") {
    report::Report report = test::BalancedReport();
    CHECK(WriteText(DocumentOf(report)).find("no training") == std::string::npos);
    report.beside = {{"evaluation", 22, 1'500'000'000, 0.3}};
    const std::string text = WriteText(DocumentOf(report));
    CHECK(text.find("Of that, no training") != std::string::npos);
    CHECK(text.find("evaluation") != std::string::npos);
    CHECK(text.find("30.0%") != std::string::npos);
    CheckFits(text);
    report.profiled_of = 100;
    CHECK(WriteText(DocumentOf(report)).find("Of the run, no training") != std::string::npos);
  }

  TEST_CASE("text: first what can be trusted, then the verdict on a line of its own") {
    const auto lines = LinesOf(WriteText(DocumentOf(test::InputBoundReport())));
    REQUIRE(lines.size() > 3);
    CHECK(lines[0] == "complete: 41,726 spans, none dropped, no damage");
    CHECK(lines[2] == "input-bound: decode (cpu)");
    CHECK(LinesOf(WriteText(DocumentOf(test::BalancedReport())))[2] == "balanced");
    const auto broken = LinesOf(WriteText(DocumentOf(test::InconclusiveReport())));
    CHECK(broken[0].starts_with("incomplete: 40 spans read, 9,000 events dropped"));
    CHECK(std::find(broken.begin(), broken.end(), "inconclusive") != broken.end());
  }

  TEST_CASE("golden: texts") {
    MatchesGolden("input_bound.txt", WriteText(DocumentOf(test::InputBoundReport())));
    MatchesGolden("job.txt", WriteText(DocumentOf(test::JobReport(2))));
    MatchesGolden("balanced.txt", WriteText(DocumentOf(test::BalancedReport())));
    MatchesGolden("inconclusive.txt", WriteText(DocumentOf(test::InconclusiveReport())));
    MatchesGolden("slower.txt", WriteText(DocumentOf(test::SlowerComparison())));
  }

  TEST_CASE("text: of many processes a kind has its count and extremes") {
    const auto lines = LinesOf(WriteText(DocumentOf(test::JobReport(200))));
    const auto least = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("  200 x worker, least ");
    });
    REQUIRE(least != lines.end());
    CHECK(least->find(" 800 ms ") != std::string::npos);
    CHECK(least->ends_with(" 238 MiB"));
    CHECK((least + 1)->starts_with("  200 x worker, most "));
    CHECK((least + 1)->find(" 2.79 s ") != std::string::npos);
    CHECK((least + 1)->ends_with(" 428 MiB"));
    CHECK((least - 1)->starts_with("  train.py "));
    // Only a job has these sections.
    const std::string other = WriteText(DocumentOf(test::InputBoundReport()));
    CHECK(other.find("\nJob\n") == std::string::npos);
    CHECK(other.find("\nProcesses\n") == std::string::npos);
  }

  TEST_CASE("text: colors add nothing but colors") {
    for (const auto& report : {test::InputBoundReport(), test::InconclusiveReport()}) {
      const std::string colored = WriteText(DocumentOf(report), {.colors = true});
      CHECK(colored.find("\x1b[") != std::string::npos);
      CHECK(Plain(colored) == WriteText(DocumentOf(report)));
    }
    CHECK(Plain(WriteText(DocumentOf(test::SlowerComparison()), {.colors = true})) ==
          WriteText(DocumentOf(test::SlowerComparison())));
  }

  TEST_CASE("text: no line but code is wider than 80 columns or steers the terminal") {
    for (const std::string& name : test::NastyTexts()) {
      const report::Report report = test::ReportNamed(name);
      CheckFits(WriteText(DocumentOf(report)), report.trace);
      CheckFits(Plain(WriteText(DocumentOf(report), {.colors = true})), report.trace);
    }
    CheckFits(WriteText(DocumentOf(report::Report{})));
    CheckFits(WriteText(DocumentOf(compare::Comparison{})));
  }

  TEST_CASE("text: a path that does not fit has its own line") {
    report::Report report = test::InputBoundReport();
    const auto has_line = [](const std::string& text, const std::string& line) {
      const auto lines = LinesOf(text);
      return std::find(lines.begin(), lines.end(), line) != lines.end();
    };
    const std::string name = report.name;
    report.trace = "/data/" + std::string(60, 'd') + "/worker0.pt.trace.json.gz";
    CHECK(has_line(WriteText(DocumentOf(report)), "  " + report.trace));
    report.trace = "/data/" + std::string(120, 'd') + "/worker0.pt.trace.json.gz";
    CHECK(has_line(WriteText(DocumentOf(report)), "  " + report.trace));
    // One that fits stays in it.
    report.trace = "run.sst";
    CHECK(WriteText(DocumentOf(report)).find(name + ", run.sst: ") != std::string::npos);
  }

  TEST_CASE("text: the number of steps excluded because stages were slowed") {
    report::Report report = test::InputBoundReport();
    CHECK(WriteText(DocumentOf(report)).find("with slowed stages") == std::string::npos);
    report.probed_steps = 190;
    std::string text = WriteText(DocumentOf(report));
    for (size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
    CHECK(text.find("excluding 190 with slowed stages") != std::string::npos);
  }

  TEST_CASE("text: the profiled steps are a part of the run") {
    report::Report report = test::InputBoundReport();
    CHECK(WriteText(DocumentOf(report)).find("profiled steps") == std::string::npos);
    report.steps = 9;
    report.profiled_of = 1500;
    std::string text = WriteText(DocumentOf(report));
    for (size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
    CHECK(text.find("9 profiled steps of 1,500, in ") != std::string::npos);
  }

  TEST_CASE("text: how many steps make an update, where it is not each") {
    report::Report report = test::InputBoundReport();
    CHECK(WriteText(DocumentOf(report)).find("one update") == std::string::npos);
    report.steps_per_update = 4;
    std::string text = WriteText(DocumentOf(report));
    for (size_t at; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");
    CHECK(text.find(", one update per 4") != std::string::npos);
  }

  TEST_CASE("text: every line of a snippet is there") {
    report::Report report = test::InputBoundReport();
    const auto& code = report.findings[0].recommendation->code;
    const std::string text = WriteText(DocumentOf(report));
    for (const std::string* snippet : {&code.tf_data, &code.pytorch, &code.dali, &code.grain}) {
      for (const std::string& line : LinesOf(*snippet)) {
        CHECK_MESSAGE(text.find(line + "\n") != std::string::npos, line);
      }
    }
    CHECK(text.find("tf.data  dataset = dataset.map(\n") != std::string::npos);
    CHECK(text.find("…") == std::string::npos);
  }

  TEST_CASE("text: a patch, code and a path can be copied, however long they are") {
    report::Report report = test::InputBoundReport();
    report.trace = "/data/" + std::string(150, 'd') + "/run.sst";
    auto& recommendation = *report.findings[0].recommendation;
    const std::string stage(120, 's');
    recommendation.patch = {};
    recommendation.patch.changes.emplace_back(SetTo(stage + ".parallelism", 123456789));
    recommendation.code.pytorch = "loader = DataLoader(" + std::string(120, 'x') + ")";
    const std::string patch = WritePatch(recommendation.patch, JsonLayout::kOneLine);
    const std::string text = WriteText(DocumentOf(report));
    CHECK(text.find("        patch " + patch + "\n") != std::string::npos);
    CHECK(text.find(recommendation.code.pytorch + "\n") != std::string::npos);
    CHECK(text.find("  " + report.trace + "\n") != std::string::npos);
  }

  TEST_CASE(
      "text: the apply command names the stage if findings of one name have different diffs") {
    report::Report report = test::JobReport(2);
    const auto written = [&] { return WriteText(DocumentOf(report)); };
    REQUIRE(report.findings.back().id == "loader-workers");
    report.findings = {report.findings.back()};
    CHECK(written().find("--finding loader-workers\n") != std::string::npos);
    report.findings.push_back(report.findings[0]);
    report.findings[1].stage = "collate";
    CHECK(written().find("--stage") == std::string::npos);  // the same diff
    report.findings[1].changes[0].diff += " \n";
    CHECK(written().find("--finding loader-workers --stage fetch\n") != std::string::npos);
    CHECK(written().find("--finding loader-workers --stage collate\n") != std::string::npos);
  }

  TEST_CASE("text: several changes are one patch file") {
    report::Report report = test::InputBoundReport();
    Patch& patch = report.findings[0].recommendation->patch;
    patch.changes.emplace_back(SetTo("batch.parallelism", 2));
    const std::string text = WriteText(DocumentOf(report));
    const size_t at = text.find("        patch\n");
    REQUIRE(at != std::string::npos);
    const size_t begin = text.find('[', at);
    const auto read = ReadPatch(text.substr(begin, text.find("]\n", begin) + 1 - begin), "p.json");
    REQUIRE(read.ok());
    CHECK(read.value() == patch);
  }

  TEST_CASE("text: a name too long for its column continues on the next line, and is not cut") {
    const std::string name = std::string(31, 'x') + std::string(31, 'y') + "z";
    const std::string table = report::AlignedTable({{"name", "count"}, {name, "12"}}, {1}, 40);
    CHECK(table == "  name                             count\n  " + std::string(31, 'x') +
                       "     12\n  " + std::string(31, 'y') + "\n  z\n");
    // An endless text must not hide the other rows.
    const std::string endless =
        report::AlignedTable({{"name", "count"}, {std::string(3000, 'x'), "12"}}, {1}, 40);
    CHECK(LinesOf(endless).size() == 9);
    CHECK(LinesOf(endless).back().ends_with("x…"));
  }

  TEST_CASE("text: a name breaks within a word only where no other column has room to give") {
    const std::vector<std::vector<std::string>> rows = {
        {"stage", "op", "of stage", "slowest lines"},
        {"fetch", "RandomResizedCrop", "51.0%", "114 (91.0%), 117 (6.0%), 119 (3.0%)"}};
    const std::string table = report::AlignedTable(rows, {2}, 60);
    CHECK(LinesOf(table)[1] == "  fetch  RandomResizedCrop     51.0%  114 (91.0%), 117");
    const std::string narrow = report::AlignedTable(rows, {2}, 44);
    CHECK(LinesOf(narrow)[2] == "  fetch  RandomResized   51.0%  114 (91.0%),");
    CHECK(LinesOf(narrow)[3] == "         Crop                   117 (6.0%),");
    for (const std::string& line : LinesOf(narrow)) CHECK(words::TextWidth(line) <= 44);
  }

  TEST_CASE("text: a title takes two lines before a column of figures is omitted") {
    const std::string table =
        report::AlignedTable({{"name", "peak memory"}, {"decode", "12 MiB"}}, {1}, 16);
    CHECK(table == "  name      peak\n          memory\n  decode  12 MiB\n");
  }

  TEST_CASE("text: a table that is too wide omits columns, and names them") {
    const std::string wide(16, '9');
    const std::vector<std::vector<std::string>> rows = {{"stage", "kind", "a", "b"},
                                                        {"decode", "map", wide, wide}};
    // Everything fits: no note.
    const std::string whole = report::AlignedTable(rows, {2, 3}, 80);
    CHECK(whole.find("omitted") == std::string::npos);
    CHECK(whole.find("kind") != std::string::npos);
    // Words give way before figures.
    const std::string narrow = report::AlignedTable(rows, {2, 3}, 44);
    CHECK(LinesOf(narrow)[1] == "  decode  " + wide + "  " + wide);
    CHECK(LinesOf(narrow)[2] == "  (columns omitted: kind)");
    const std::string narrower = report::AlignedTable(rows, {2, 3}, 30);
    CHECK(LinesOf(narrower)[1] == "  decode  " + wide);
    CHECK(LinesOf(narrower)[2] == "  (columns omitted: kind, b)");
    for (const std::string& line : LinesOf(narrower)) CHECK(words::TextWidth(line) <= 30);
  }
}
