// A sweep's table in its three forms.
#include "analyzer/report/sweep_table.h"

#include <doctest/doctest.h>

#include <sstream>

#include "analyzer/base/escape.h"
#include "analyzer/report/html/html.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/text.h"
#include "analyzer/words/words.h"
#include "tests/analyzer/report/sample_reports.h"

using namespace stallscope;
using report::BestRow;
using report::ParetoFront;
using report::SweepRow;
using report::SweepTable;

namespace {

SweepRow Row(const std::string& name, double predicted, double measured, uint64_t memory) {
  SweepRow row;
  row.name = name;
  if (predicted > 0) row.predicted = {predicted, predicted * 0.9, predicted * 1.1};
  if (measured > 0) row.measured = {measured, measured * 0.95, measured * 1.05};
  if (memory > 0) row.memory_bytes = memory;
  return row;
}

SweepTable Grid() {
  SweepTable table;
  table.title = "images";
  table.trace = "run.sst";
  table.what = "grid";
  table.repeats = 2;
  table.axes = {{"decode.parallelism", {"1", "2"}}, {"ready.buffer_size", {"1", "8"}}};
  for (const char* workers : {"1", "2"}) {
    for (const char* buffer : {"1", "8"}) {
      const double rate = (workers[0] == '2' ? 200 : 100) + (buffer[0] == '8' ? 5 : 0);
      SweepRow row =
          Row(std::string("decode.parallelism=") + workers + " ready.buffer_size=" + buffer, rate,
              rate, buffer[0] == '8' ? 9'000'000 : 5'000'000);
      row.values = {workers, buffer};
      row.verdict = "balanced";
      table.rows.push_back(row);
    }
  }
  table.accuracy = {4, 0.02, 0.04, 0.75, 0.1, 0.0};
  return table;
}

size_t CountWord(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, words::TextWidth(line));
  }
  return longest;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the best row is the fastest by what was measured, and none that failed") {
    SweepTable table = Grid();
    CHECK(BestRow(table) == 3);
    table.rows[3].failed = true;
    CHECK(BestRow(table) == 2);
    table.rows[2].measured.reset();
    table.rows[2].predicted->samples_per_s = 1'000;
    CHECK(BestRow(table) == 2);
    CHECK_FALSE(BestRow(SweepTable()).has_value());
  }

  TEST_CASE("of rows that are as fast, the best is the one with the least memory, else the first") {
    SweepTable table;
    table.rows = {Row("4", 500, 0, 10), Row("6", 546, 0, 30), Row("7", 548, 0, 20),
                  Row("8", 549, 0, 40)};
    CHECK(BestRow(table) == 2);
    for (auto& row : table.rows) row.memory_bytes.reset();
    CHECK(BestRow(table) == 1);
    table.rows[3].predicted->samples_per_s = 560;
    CHECK(BestRow(table) == 3);
  }

  TEST_CASE("the Pareto front has every row that no other beats with as little memory") {
    SweepTable table;
    table.rows = {Row("slow small", 0, 100, 10), Row("slow large", 0, 100, 20),
                  Row("fast large", 0, 200, 20), Row("fast larger", 0, 200, 30),
                  Row("no memory known", 0, 500, 0)};
    CHECK(ParetoFront(table) == std::vector<size_t>{0, 2});
    table.rows[2].failed = true;
    CHECK(ParetoFront(table) == std::vector<size_t>{0, 3});
  }

  TEST_CASE("text fits a terminal, whatever the names, and has every figure") {
    SweepTable table = Grid();
    const std::string text = report::WriteText(DocumentOf(table));
    CHECK(LongestLine(text) <= report::kTextWidth);
    for (const char* word : {"images", "4 configurations", "2 runs each", "best: ", "2.05x",
                             "median error 2.0%", "balanced", "205"}) {
      CHECK_MESSAGE(text.find(word) != std::string::npos, word);
    }
    table.rows[1].name = std::string(300, 'x') + "\x1b[31m\n";
    table.rows[1].note = std::string(500, 'y');
    table.rows[1].verdict = std::string(200, 'z');
    const std::string odd = report::WriteText(DocumentOf(table));
    CHECK(LongestLine(odd) <= report::kTextWidth);
    CHECK(odd.find('\x1b') == std::string::npos);
  }

  TEST_CASE("names too long for their column leave the stages out, never the values") {
    SweepTable table;
    table.axes = {{"transfer.pinned", {"true"}}, {"transfer.overlap", {"true", "false"}}};
    table.rows = {Row("transfer.pinned=true transfer.overlap=true", 200, 0, 0),
                  Row("transfer.pinned=true transfer.overlap=false", 100, 0, 0)};
    table.rows[0].values = {"true", "true"};
    table.rows[1].values = {"true", "false"};
    const std::string text = report::WriteText(DocumentOf(table));
    // In the table of the figures, and in that of the intervals.
    CHECK(CountWord(text, "  pinned=true overlap=true ") == 2);
    CHECK(CountWord(text, "  pinned=true overlap=false ") == 2);
    // Without its stage a field would not say whose it is here.
    table.axes = {{"decode.parallelism", {"1"}}, {"fetch_and_augment.parallelism", {"2"}}};
    table.rows[0].name = "decode.parallelism=1 fetch_and_augment.parallelism=2";
    CHECK(report::WriteText(DocumentOf(table)).find(" parallelism=") == std::string::npos);
    // Short ones stay whole.
    table.axes.resize(1);
    table.rows = {Row("decode.parallelism=1", 100, 0, 0)};
    table.rows[0].values = {"1"};
    CHECK(report::WriteText(DocumentOf(table)).find("  decode.parallelism=1 ") !=
          std::string::npos);
  }

  TEST_CASE("text: every row can be told from every other, whatever its name") {
    SweepTable table;
    const std::string common = "fetch_and_augment.parallelism=8 +cache_after_decode ";
    for (const char* end :
         {"transfer.pinned=true", "transfer.pinned=false", "batch.size=12345678"}) {
      table.rows.push_back(Row(common + end, 100, 100, 0));
    }
    const std::string text = report::WriteText(DocumentOf(table));
    CHECK(text.find("…") == std::string::npos);
    for (const char* label : {"  #1 ", "  #2 ", "  #3 "}) CHECK(CountWord(text, label) == 2);
    CHECK(text.find("#1: " + common + "transfer.pinned=true\n") != std::string::npos);
    CHECK(text.find("#2: " + common + "transfer.pinned=false\n") != std::string::npos);
    // Also one long name alone, without an axis that it could leave out.
    table.rows = {Row("cache", 100, 0, 0), Row("precomputed-augmentation in decode", 200, 0, 0)};
    CHECK(report::WriteText(DocumentOf(table)).find("#2: precomputed-augmentation in decode\n") !=
          std::string::npos);
    // Two that are called the same are still two.
    table.rows = {Row("twice", 100, 0, 0), Row("twice", 200, 0, 0)};
    CHECK(CountWord(report::WriteText(DocumentOf(table)), "  #2 ") == 2);
  }

  TEST_CASE("text: no figure is broken by the end of a line") {
    for (size_t width = 0; width < 110; ++width) {
      SweepTable table;
      table.rows = {Row(std::string(width, 'x') + " decode.parallelism=123456789012345 and more",
                        100, 100, 0)};
      const std::string text = report::WriteText(DocumentOf(table));
      CHECK(text.find("parallelism=123456789012345") != std::string::npos);
      CHECK(LongestLine(text) <= report::kTextWidth);
    }
  }

  TEST_CASE("of very many rows the fastest and the base are shown") {
    SweepTable table;
    for (int i = 0; i < 500; ++i)
      table.rows.push_back(Row("row " + std::to_string(i), i + 1, 0, 0));
    const std::string text = report::WriteText(DocumentOf(table, 10));
    CHECK(text.find("row 499") != std::string::npos);
    CHECK(text.find("row 0 ") != std::string::npos);
    CHECK(text.find("row 250") == std::string::npos);
    CHECK(text.find("10 fastest of 500") != std::string::npos);
  }

  TEST_CASE("a point that failed, or is not predicted, says why") {
    SweepTable table = Grid();
    table.rows[0] = Row("odd", 0, 0, 0);
    table.rows[0].failed = true;
    table.rows[0].note = "it fell over";
    table.complete = false;
    for (const std::string& text :
         {report::WriteText(DocumentOf(table)), report::WriteMarkdown(DocumentOf(table)),
          report::WriteHtml(DocumentOf(table))}) {
      CHECK(text.find("it fell over") != std::string::npos);
      CHECK(text.find("failed") != std::string::npos);
      CHECK(text.find("not finished") != std::string::npos);
    }
  }

  TEST_CASE("Markdown never takes a name for markup") {
    SweepTable table = Grid();
    table.rows[0].name = "a|b*c*<script>";
    table.title = "@everyone";
    const std::string text = report::WriteMarkdown(DocumentOf(table));
    CHECK(text.find("<script>") == text.find("`a\\|b*c*<script>`") + 8);
    CHECK(text.find("| @everyone") == std::string::npos);
    CHECK(CountWord(text, "\n|") == 6);
  }

  TEST_CASE("a sweep whose every text is hostile steers nothing and stays a table") {
    for (const std::string& name : test::NastyTexts()) {
      SweepTable table = Grid();
      table.title = table.trace = table.counted = name;
      table.warnings = {name};
      for (report::SweepAxis& axis : table.axes) {
        axis.path = name;
        for (std::string& value : axis.values) value = name;
      }
      for (SweepRow& row : table.rows) {
        row.name = row.verdict = row.note = name;
        for (std::string& value : row.values) value = name;
      }
      const std::string text = report::WriteText(DocumentOf(table));
      CHECK(LongestLine(text) <= report::kTextWidth);
      CHECK(PrintableLines(text) == text);
      const std::string markdown = report::WriteMarkdown(DocumentOf(table));
      CHECK(markdown.find_first_of("\x1b\r\t") == std::string::npos);
      CHECK(markdown.find("\n# heading") == std::string::npos);
      CHECK(CountWord(markdown, "\n|") == 6);
      const std::string page = report::WriteHtml(DocumentOf(table));
      CHECK(PrintableLines(page) == page);
      CHECK(page.find("<script") == std::string::npos);
      CHECK(page.find("<img") == std::string::npos);
    }
  }

  TEST_CASE("the page has its pictures, stands alone and runs nothing") {
    SweepTable table = Grid();
    table.rows[0].name = "<script>alert(1)</script>";
    const std::string page = report::WriteHtml(DocumentOf(table));
    CHECK(CountWord(page, "<svg") == 3);
    CHECK(page.find("Throughput over decode.parallelism and ready.buffer_size") ==
          std::string::npos);
    CHECK(page.find("Throughput over ready.buffer_size and decode.parallelism") !=
          std::string::npos);
    CHECK(page.find("Throughput against memory") != std::string::npos);
    CHECK(page.find("Predicted against measured") != std::string::npos);
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find("http://") == std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
  }

  TEST_CASE("three knobs give one map per pair, one gives a line, none gives no map") {
    SweepTable table = Grid();
    table.axes.push_back({"transfer.pinned", {"true"}});
    for (SweepRow& row : table.rows) row.values.emplace_back("true");
    CHECK(CountWord(report::WriteHtml(DocumentOf(table)), "aria-label=\"Throughput over") == 3);
    SweepTable one = Grid();
    one.axes.pop_back();
    for (SweepRow& row : one.rows) row.values.pop_back();
    CHECK(CountWord(report::WriteHtml(DocumentOf(one)), "aria-label=\"Throughput over") == 1);
    SweepTable none = Grid();
    none.axes.clear();
    CHECK(CountWord(report::WriteHtml(DocumentOf(none)), "aria-label=\"Throughput over") == 0);
  }

  TEST_CASE("pictures that would be empty are left out") {
    SweepTable table = Grid();
    table.accuracy = {};
    for (SweepRow& row : table.rows) {
      row.measured.reset();
      row.memory_bytes.reset();
    }
    const std::string page = report::WriteHtml(DocumentOf(table));
    CHECK(page.find("against memory") == std::string::npos);
    CHECK(page.find("Predicted against measured") == std::string::npos);
    CHECK(CountWord(page, "<svg") == 1);
  }
}
