#include "analyzer/report/sweep_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyzer/base/escape.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

// What a line of a terminal has room for.
constexpr size_t kNameWidth = 30;
// A rate of this part of the fastest is as good.
constexpr double kAsFast = 0.99;

// --- Cells ---

std::string RateText(const std::optional<SweepRate>& rate) {
  return rate ? words::Number(rate->samples_per_s) : std::string(words::kUnknown);
}

std::string IntervalOf(const std::optional<SweepRate>& rate) {
  if (!rate.has_value()) return "-";
  return fmt::format("{} to {}", words::Number(rate->low), words::Number(rate->high));
}

std::string RateWithInterval(const std::optional<SweepRate>& rate) {
  return rate ? RateText(rate) + " (" + IntervalOf(rate) + ")" : std::string(words::kUnknown);
}

std::string ErrorCell(const SweepRow& row) {
  if (!row.predicted || !row.measured || !(row.measured->samples_per_s > 0)) {
    return std::string(words::kUnknown);
  }
  return words::SignedPercent(row.predicted->samples_per_s / row.measured->samples_per_s - 1);
}

// Measured against measured where both are, else predicted against predicted.
std::optional<double> GainOf(const SweepRow& row, const SweepRow& base) {
  const auto ratio = [](const auto& now, const auto& old) -> std::optional<double> {
    if (!now || !old || !(old->samples_per_s > 0)) return std::nullopt;
    return now->samples_per_s / old->samples_per_s;
  };
  if (row.failed) return std::nullopt;
  const auto measured = ratio(row.measured, base.measured);
  return measured ? measured : ratio(row.predicted, base.predicted);
}

std::string GainCell(const SweepTable& table, size_t row) {
  if (table.base >= table.rows.size()) return std::string(words::kUnknown);
  const auto gain = GainOf(table.rows[row], table.rows[table.base]);
  return gain ? words::Factor(*gain) : std::string(words::kUnknown);
}

std::string BoundCell(const SweepRow& row) {
  return row.failed ? "failed" : row.verdict.empty() ? "-" : row.verdict;
}

std::string FieldOf(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// The axes without their stages where that names each of them; a cut name would hide the very
// values that tell the rows apart.
std::string ShortName(const SweepTable& table, const SweepRow& row) {
  if (row.name.size() <= kNameWidth || table.axes.empty() ||
      row.values.size() != table.axes.size()) {
    return row.name;
  }
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

// What a terminal calls the rows of a table: their short names where all fit and differ, else a
// number each, for a list of the names in full.
struct Labels {
  std::vector<std::string> names;
  bool numbered = false;
};

Labels LabelsOf(const SweepTable& table, const std::vector<size_t>& rows) {
  Labels labels;
  std::set<std::string> seen;
  for (const size_t i : rows) {
    labels.names.push_back(Printable(ShortName(table, table.rows[i])));
    const std::string& name = labels.names.back();
    labels.numbered |= words::TextWidth(name) > kNameWidth || !seen.insert(name).second;
  }
  if (!labels.numbered) return labels;
  for (size_t k = 0; k < rows.size(); ++k) labels.names[k] = "#" + std::to_string(rows[k] + 1);
  return labels;
}

// All in their order, or the `most` fastest, with the base.
std::vector<size_t> RowsToShow(const SweepTable& table, size_t most) {
  std::vector<size_t> rows(table.rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  if (rows.size() <= most) return rows;
  const auto rank = [&](size_t row) {
    if (row == table.base) return HUGE_VAL;
    return RateOf(table.rows[row]).value_or(-1);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return rank(a) > rank(b); });
  rows.resize(most);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// The figures of each row. With intervals and bounds they would be too wide for a terminal, which
// gets a separate table of those.
Table RowTable(const SweepTable& table, const std::vector<size_t>& rows, const Labels& labels) {
  constexpr Forms kWide = kInMarkdown | kInHtml;
  const std::string unit = " " + table.counted + "/s";
  Table drawn{{{"configuration", false, false, kInText},
               {"configuration", false, true, kWide},
               {"predicted", true, false, kInText},
               {"predicted" + unit, true, false, kWide},
               {"measured", true, false, kInText},
               {"measured" + unit, true, false, kWide},
               {"error", true},
               {"gain", true},
               {"memory", true},
               {"bound", false, false, kWide}},
              {},
              ""};
  for (size_t k = 0; k < rows.size(); ++k) {
    const SweepRow& row = table.rows[rows[k]];
    drawn.rows.push_back({labels.names[k], row.name, RateText(row.predicted),
                          RateWithInterval(row.predicted), RateText(row.measured),
                          RateWithInterval(row.measured), ErrorCell(row), GainCell(table, rows[k]),
                          words::BytesOrDash(row.memory_bytes), BoundCell(row)});
  }
  return drawn;
}

Table IntervalTable(const SweepTable& table, const std::vector<size_t>& rows,
                    const Labels& labels) {
  Table drawn{
      {{"configuration"}, {"predicted, 90%", true}, {"measured, 95%", true}, {"bound"}}, {}, ""};
  for (size_t k = 0; k < rows.size(); ++k) {
    const SweepRow& row = table.rows[rows[k]];
    drawn.rows.push_back(
        {labels.names[k], IntervalOf(row.predicted), IntervalOf(row.measured), BoundCell(row)});
  }
  return drawn;
}

// --- Sentences ---

std::string SweepPhrase(const SweepTable& table) {
  std::string text = table.title.empty() ? table.trace : table.title + ", " + table.trace;
  text += table.what == "verify" ? ": its recommendations replayed, " : ": a sweep of ";
  text += fmt::format("{} configurations", words::Grouped(table.rows.size()));
  const bool ran = std::any_of(table.rows.begin(), table.rows.end(),
                               [](const SweepRow& row) { return row.measured.has_value(); });
  if (ran) text += ", " + words::Counted(table.repeats, "run") + " each";
  if (table.emulated) text += ", emulated";
  return text + (table.complete ? "" : ", not finished");
}

std::string BestPhrase(const SweepTable& table) {
  const auto best = BestRow(table);
  if (!best.has_value()) return "";
  const SweepRow& row = table.rows[*best];
  std::string text = fmt::format("best: {}, {} {}/s {}", row.name, words::Number(*RateOf(row)),
                                 table.counted, row.measured ? "measured" : "predicted");
  if (*best == table.base || table.base >= table.rows.size()) return text;
  const auto gain = GainOf(row, table.rows[table.base]);
  return gain ? text + fmt::format(", {:.2f}x the recorded configuration", *gain) : text;
}

std::string AccuracyPhrase(const SweepTable& table) {
  const SweepAccuracy& accuracy = table.accuracy;
  if (accuracy.points == 0) return "";
  std::string text = fmt::format("predicted against measured, {} configuration{}: median error {}",
                                 accuracy.points, accuracy.points == 1 ? "" : "s",
                                 words::PercentOrDash(accuracy.median));
  text += fmt::format(", 95th percentile {}; the interval contains the measurement in {}",
                      words::PercentOrDash(accuracy.p95), words::PercentOrDash(accuracy.covered));
  text += fmt::format(", its median half-width is {}",
                      words::PercentOrDash(accuracy.median_half_width));
  return text + fmt::format("; the predicted best is {} below the measured best",
                            words::PercentOrDash(accuracy.best_within));
}

List NotesOf(const SweepTable& table) {
  List list;
  for (const std::string& warning : table.warnings) list.items.push_back({"", warning});
  for (const SweepRow& row : table.rows) {
    if (!row.note.empty()) list.items.push_back({row.name, row.note});
  }
  list.more = "note";
  return list;
}

std::vector<Fact> FactsOf(const SweepTable& table) {
  std::vector<Fact> facts{{words::Grouped(table.rows.size()), "configurations", ""}};
  if (const auto best = BestRow(table)) {
    const SweepRow& row = table.rows[*best];
    facts.push_back({words::Number(*RateOf(row)) + " " + table.counted + "/s",
                     row.measured ? "best, measured" : "best, predicted", ""});
  }
  if (table.accuracy.median) {
    facts.push_back({words::Percent(*table.accuracy.median), "median prediction error", ""});
  }
  return facts;
}

}  // namespace

std::optional<double> RateOf(const SweepRow& row) {
  if (row.failed) return std::nullopt;
  if (row.measured) return row.measured->samples_per_s;
  if (row.predicted) return row.predicted->samples_per_s;
  return std::nullopt;
}

std::optional<size_t> BestRow(const SweepTable& table) {
  double fastest = 0;
  for (const SweepRow& row : table.rows) fastest = std::max(fastest, RateOf(row).value_or(0));
  std::optional<size_t> best;
  const auto memory = [&](size_t i) { return table.rows[i].memory_bytes.value_or(UINT64_MAX); };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const auto rate = RateOf(table.rows[i]);
    if (!rate.has_value() || *rate < kAsFast * fastest) continue;
    if (!best.has_value() || memory(i) < memory(*best)) best = i;
  }
  return best;
}

std::vector<size_t> ParetoFront(const SweepTable& table) {
  std::vector<size_t> order;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (RateOf(table.rows[i]) && table.rows[i].memory_bytes) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const uint64_t memory_a = *table.rows[a].memory_bytes;
    const uint64_t memory_b = *table.rows[b].memory_bytes;
    if (memory_a != memory_b) return memory_a < memory_b;
    const double rate_a = *RateOf(table.rows[a]);
    const double rate_b = *RateOf(table.rows[b]);
    return rate_a != rate_b ? rate_a > rate_b : a < b;
  });
  std::vector<size_t> front;
  double fastest = -1;
  for (const size_t row : order) {
    const double rate = *RateOf(table.rows[row]);
    if (rate <= fastest) continue;
    fastest = rate;
    front.push_back(row);
  }
  return front;
}

Document DocumentOf(const SweepTable& table, size_t most_rows) {
  Document document;
  Head& head = document.head;
  document.page_title = "sweep - " + (table.title.empty() ? table.trace : table.title);
  document.footer = "stallscope sweep of " + table.trace;
  const std::string best = BestPhrase(table);
  head.title = best.empty() ? "No figures" : best;
  head.tone = best.empty() ? Tone::kBad : Tone::kGood;
  head.notes = {SweepPhrase(table)};
  head.facts = FactsOf(table);

  using Kind = SweepFigure::Kind;
  const auto add = [&](auto what, Forms in = kInAll) {
    document.blocks.push_back({std::move(what), in});
  };
  const auto copy = std::make_shared<const SweepTable>(table);
  add(Heading{"Throughput over two knobs"}, kInHtml);
  add(SweepFigure{Kind::kHeatMaps, copy}, kInHtml);
  add(Heading{"Throughput against memory"}, kInHtml);
  add(SweepFigure{Kind::kParetoFront, copy}, kInHtml);
  const std::vector<size_t> rows = RowsToShow(table, most_rows);
  add(Heading{table.counted == "steps" ? "Steps per second" : "Samples per second"});
  const Labels labels = LabelsOf(table, rows);
  if (labels.numbered) {
    List names;
    for (size_t k = 0; k < rows.size(); ++k) {
      names.items.push_back({labels.names[k], table.rows[rows[k]].name});
    }
    add(std::move(names), kInText);
  }
  add(RowTable(table, rows, labels));
  if (rows.size() < table.rows.size()) {
    add(Paragraph{fmt::format("the {} fastest of {}; the sweep file has all",
                              words::Grouped(rows.size()), words::Grouped(table.rows.size()))});
  }
  add(Heading{"Intervals and bounds"}, kInText);
  add(IntervalTable(table, rows, labels), kInText);
  add(Heading{"Predicted against measured"}, kInHtml);
  const std::string accuracy = AccuracyPhrase(table);
  if (!accuracy.empty()) {
    add(SweepFigure{Kind::kPredictedAgainstMeasured, copy}, kInHtml);
    add(Paragraph{accuracy});
  }
  List notes = NotesOf(table);
  if (!notes.items.empty()) {
    add(Heading{"Notes"});
    add(std::move(notes));
  }
  return document;
}

}  // namespace stallscope::report
