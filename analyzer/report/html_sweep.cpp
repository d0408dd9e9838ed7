#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_parts.h"
#include "analyzer/report/html_sweep_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/sweep_cells.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

constexpr size_t kMostRows = 2'000;

std::string Tiles(const SweepTable& table) {
  std::string tiles = html::Tile(words::Grouped(table.rows.size()), "configurations");
  if (const auto best = BestRow(table)) {
    const SweepRow& row = table.rows[*best];
    tiles += html::Tile(words::Number(*RateOf(row)),
                        table.counted + "/s at best, " + (row.measured ? "measured" : "predicted"));
  }
  if (table.accuracy.median) {
    tiles += html::Tile(words::Percent(*table.accuracy.median), "median error of the predictions");
  }
  return "<div class=\"tiles\">" + tiles + "</div>\n";
}

std::string Header(const SweepTable& table) {
  const std::string best = BestPhrase(table);
  std::string text =
      "<header>\n<h1>" + EscapeMarkup(best.empty() ? "No figures" : best) + "</h1>\n";
  text += "<p class=\"faint\">" + EscapeMarkup(SweepPhrase(table)) + "</p>\n";
  return text + Tiles(table) + "</header>\n";
}

std::string Accuracy(const SweepTable& table) {
  const std::string phrase = AccuracyPhrase(table);
  if (phrase.empty()) return "";
  return html::PredictedAgainstMeasured(table) + "<p>" + EscapeMarkup(phrase) + "</p>\n";
}

std::string Configurations(const SweepTable& table) {
  const std::vector<size_t> rows = RowsToShow(table, kMostRows);
  std::string text = html::Table(SweepCells(table, rows), kSweepNumbers);
  if (rows.size() < table.rows.size()) {
    text += fmt::format("<p class=\"faint\">the {} fastest of {}</p>\n",
                        words::Grouped(rows.size()), words::Grouped(table.rows.size()));
  }
  return text;
}

}  // namespace

std::string WriteHtml(const SweepTable& table) {
  std::string body = Header(table);
  body += html::Section("Throughput over two knobs", html::HeatMaps(table));
  body += html::Section("Throughput against memory", html::ParetoPicture(table));
  body += html::Section("Predicted against measured", Accuracy(table));
  body += html::Section("Configurations", Configurations(table));
  body += html::Section("Notes", html::List(SweepNotes(table)));
  const std::string name = table.title.empty() ? table.trace : table.title;
  body += "<footer>" + EscapeMarkup("stallscope sweep of " + table.trace) + "</footer>\n";
  return html::Page("sweep - " + name, body);
}

}  // namespace stallscope::report
