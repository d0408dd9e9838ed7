#include "analyzer/report/sweep_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/report/layout.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/sweep_cells.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

std::string RateCell(const std::optional<SweepRate>& rate) {
  if (!rate.has_value()) return std::string(words::kUnknown);
  return fmt::format("{} ({} to {})", words::Number(rate->samples_per_s), words::Number(rate->low),
                     words::Number(rate->high));
}

std::string ErrorCell(const SweepRow& row) {
  if (!row.predicted || !row.measured || !(row.measured->samples_per_s > 0)) {
    return std::string(words::kUnknown);
  }
  return fmt::format("{:+.1f}%",
                     (row.predicted->samples_per_s / row.measured->samples_per_s - 1) * 100);
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
  return gain ? fmt::format("{:.2f}x", *gain) : std::string(words::kUnknown);
}

}  // namespace

const std::vector<size_t> kSweepNumbers = {1, 2, 3, 4, 5};

std::optional<double> RateOf(const SweepRow& row) {
  if (row.failed) return std::nullopt;
  if (row.measured) return row.measured->samples_per_s;
  if (row.predicted) return row.predicted->samples_per_s;
  return std::nullopt;
}

std::optional<size_t> BestRow(const SweepTable& table) {
  std::optional<size_t> best;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const auto rate = RateOf(table.rows[i]);
    if (rate && (!best || *rate > *RateOf(table.rows[*best]))) best = i;
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

std::vector<std::vector<std::string>> SweepCells(const SweepTable& table,
                                                 const std::vector<size_t>& rows) {
  std::vector<std::vector<std::string>> cells{{"configuration", "predicted " + table.counted + "/s",
                                               "measured " + table.counted + "/s", "error", "gain",
                                               "memory", "bound"}};
  for (const size_t i : rows) {
    const SweepRow& row = table.rows[i];
    const std::string bound = row.failed ? "failed" : row.verdict.empty() ? "-" : row.verdict;
    cells.push_back({row.name, RateCell(row.predicted), RateCell(row.measured), ErrorCell(row),
                     GainCell(table, i), words::BytesOrDash(row.memory_bytes), bound});
  }
  return cells;
}

std::string SweepPhrase(const SweepTable& table) {
  std::string text = table.title.empty() ? table.trace : table.title + ", " + table.trace;
  text += table.what == "verify" ? ": its recommendations replayed, " : ": a sweep of ";
  text += fmt::format("{} configurations", words::Grouped(table.rows.size()));
  const bool ran = std::any_of(table.rows.begin(), table.rows.end(),
                               [](const SweepRow& row) { return row.measured.has_value(); });
  if (ran) text += fmt::format(", {} run{} each", table.repeats, table.repeats == 1 ? "" : "s");
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
  text += fmt::format(", 95th percentile {}; the interval holds the measurement in {}",
                      words::PercentOrDash(accuracy.p95), words::PercentOrDash(accuracy.covered));
  text += fmt::format(", its median half-width is {}",
                      words::PercentOrDash(accuracy.median_half_width));
  return text + fmt::format("; the predicted best is {} below the measured best",
                            words::PercentOrDash(accuracy.best_within));
}

std::vector<std::string> SweepNotes(const SweepTable& table) {
  std::vector<std::string> notes = table.warnings;
  for (const SweepRow& row : table.rows) {
    if (!row.note.empty()) notes.push_back(row.name + ": " + row.note);
  }
  return notes;
}

}  // namespace stallscope::report
