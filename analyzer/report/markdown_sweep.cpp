#include <fmt/core.h>

#include "analyzer/base/escape.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/sweep_cells.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

constexpr size_t kMostRows = 100;

}  // namespace

std::string WriteMarkdown(const SweepTable& table) {
  std::string text = "### " + EscapeMarkdown(SweepPhrase(table)) + "\n";
  const std::string best = BestPhrase(table);
  if (!best.empty()) text += "\n**" + EscapeMarkdown(best) + "**\n";
  const std::vector<size_t> rows = RowsToShow(table, kMostRows);
  const auto cells = SweepCells(table, rows);
  text += "\n";
  for (size_t i = 0; i < cells.size(); ++i) {
    text += "|";
    for (size_t k = 0; k < cells[i].size(); ++k) {
      const bool name = i > 0 && k == 0;
      text += " " + (name ? MarkdownCode(cells[i][k]) : EscapeMarkdown(cells[i][k])) + " |";
    }
    text += "\n";
    if (i == 0) text += "|---|--:|--:|--:|--:|--:|---|\n";
  }
  if (rows.size() < table.rows.size()) {
    text += fmt::format("\nThe {} fastest of {}.\n", words::Grouped(rows.size()),
                        words::Grouped(table.rows.size()));
  }
  const std::string accuracy = AccuracyPhrase(table);
  if (!accuracy.empty()) text += "\n" + EscapeMarkdown(accuracy) + "\n";
  const std::vector<std::string> notes = SweepNotes(table);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "- " + EscapeMarkdown(note) + "\n";
  return text;
}

}  // namespace stallscope::report
