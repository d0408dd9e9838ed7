#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/sweep_cells.h"
#include "analyzer/report/text_sections.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

constexpr size_t kMostNotes = 12;
constexpr size_t kNameWidth = 34;
constexpr size_t kBoundWidth = 20;

std::string FieldOf(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// The axes without their stages where that names each of them; a cut name would hide the very
// values that tell the rows apart.
std::string ShortName(const SweepTable& table, const SweepRow& row) {
  if (row.name.size() <= kNameWidth || row.values.size() != table.axes.size()) return row.name;
  std::vector<std::string> fields;
  std::string name;
  for (size_t i = 0; i < table.axes.size(); ++i) {
    const std::string field = FieldOf(table.axes[i].path);
    if (std::find(fields.begin(), fields.end(), field) != fields.end()) return row.name;
    fields.push_back(field);
    name += (i == 0 ? "" : " ") + field + "=" + row.values[i];
  }
  return name;
}

// Intervals take too much room beside each other: here the figures stand alone where a line would
// be cut.
void Shorten(const SweepTable& table, const std::vector<size_t>& rows,
             std::vector<std::vector<std::string>>& cells) {
  size_t longest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string& name = cells[i + 1].front();
    name = words::CutTo(Printable(ShortName(table, table.rows[rows[i]])), kNameWidth);
    longest = std::max(longest, words::TextWidth(name));
  }
  for (std::vector<std::string>& row : cells) {
    row.back() = words::CutTo(Printable(row.back()), kBoundWidth + kNameWidth - longest);
    for (size_t column : {size_t{1}, size_t{2}}) {
      row[column] = row[column].substr(0, row[column].find(" ("));
    }
  }
  cells.front()[1] = "predicted";
  cells.front()[2] = "measured";
}

std::string RateHeading(const SweepTable& table) {
  return table.counted == "steps" ? "Steps a second" : "Samples a second";
}

std::string IntervalOf(const std::optional<SweepRate>& rate) {
  if (!rate.has_value()) return "-";
  return fmt::format("{} to {}", words::Number(rate->low), words::Number(rate->high));
}

std::vector<std::vector<std::string>> IntervalCells(const SweepTable& table,
                                                    const std::vector<size_t>& rows) {
  std::vector<std::vector<std::string>> cells{{"configuration", "predicted, 90%", "measured, 95%"}};
  for (const size_t row : rows) {
    cells.push_back({table.rows[row].name, IntervalOf(table.rows[row].predicted),
                     IntervalOf(table.rows[row].measured)});
  }
  return cells;
}

}  // namespace

std::string WriteText(const SweepTable& table, const TextOptions& options, size_t most_rows) {
  const bool colors = options.colors;
  std::string text = Lines(SweepPhrase(table), 0, 2);
  const std::string best = BestPhrase(table);
  if (!best.empty()) text += Painted(Lines(best, 0, 2), Tone::kGood, colors);
  const std::vector<size_t> rows = RowsToShow(table, most_rows);
  auto cells = SweepCells(table, rows);
  Shorten(table, rows, cells);
  text += Heading(RateHeading(table), colors) + Table(cells, kSweepNumbers);
  if (rows.size() < table.rows.size()) {
    text += fmt::format("the {} fastest of {}; the sweep file has all\n",
                        words::Grouped(rows.size()), words::Grouped(table.rows.size()));
  }
  text += Heading("Intervals", colors) + Table(IntervalCells(table, rows), {1, 2});
  const std::string accuracy = AccuracyPhrase(table);
  if (!accuracy.empty()) text += "\n" + Lines(accuracy, 0, 2);
  const std::vector<std::string> notes = SweepNotes(table);
  if (!notes.empty()) text += Heading("Notes", colors);
  for (size_t i = 0; i < notes.size() && i < kMostNotes; ++i) text += Lines(notes[i], 2, 4);
  if (notes.size() > kMostNotes) {
    text += fmt::format("  and {} more\n", words::Grouped(notes.size() - kMostNotes));
  }
  return text;
}

}  // namespace stallscope::report
