#include "replay/sweep/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "replay/sweep/measured_gains.h"
#include "replay/sweep/moves.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {
namespace {

std::optional<report::SweepRate> RateRow(const std::optional<Rate>& rate) {
  if (!rate.has_value()) return std::nullopt;
  return report::SweepRate{rate->samples_per_s, rate->low, rate->high};
}

void Note(std::string text, report::SweepRow& row) {
  row.note += (row.note.empty() ? "" : "; ") + std::move(text);
}

report::SweepRow RowOf(const Sweep& sweep, const Point& point) {
  report::SweepRow row;
  row.name = point.name.empty() ? NameOf(point) : point.name;
  if (point.set.size() == sweep.axes.size()) {
    for (const Setting& setting : point.set) row.values.push_back(setting.value);
  }
  row.predicted = RateRow(point.predicted);
  row.measured = RateRow(Measured(point));
  if (row.measured.has_value() && &point != &BaseOf(sweep)) row.gain = MeasuredGain(sweep, point);
  row.memory_bytes = MemoryOf(point);
  row.verdict = point.verdict;
  row.failed = !point.error.empty();
  row.note = row.failed                ? point.error
             : !point.unpriced.empty() ? "not predicted: " + point.unpriced
             : point.probed            ? "predicted with a short probe run"
                                       : "";
  if (point.filled.has_value()) {
    std::string text =
        "the run that filled the store: " + words::Rate(point.filled->rate.samples_per_s);
    if (row.gain.has_value() && row.gain->first_run.has_value()) {
      text += ", " + words::Factor(*row.gain->first_run);
    }
    if (point.filled->stored_samples > 0) {
      text += ", filling it in " + words::Duration(point.filled->stored_s * 1e9);
    }
    if (const auto passes = PassesToPay(sweep, point)) {
      text += fmt::format(", which pays off after {:.1f} passes over the data", *passes);
    }
    Note(std::move(text), row);
  }
  return row;
}

// Which recommendation to take, and which may cost more than time. Whoever varies a setting of a
// pipeline knows what it does; a job's data set is another matter.
void NoteTheBest(const Sweep& sweep, size_t first_row, report::SweepTable& table) {
  const auto spec = ReadAnySpec(sweep.spec_json, sweep.trace);
  if (!spec.ok() || (sweep.kind != SweepKind::kVerify && !IsJob(spec.value()))) return;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto changed = SpecOf(spec.value(), sweep.points[i]);
    if (!changed.ok()) continue;
    std::string effect = SideEffect(spec.value(), changed.value());
    if (!effect.empty()) Note(std::move(effect), table.rows[first_row + i]);
  }
  if (sweep.kind != SweepKind::kVerify) return;
  const auto best = BestOf(spec.value(), sweep);
  if (best.has_value()) {
    Note("the smallest change that is as fast as the fastest", table.rows[first_row + *best]);
  }
}

// Work that never ends affects all runs alike, and no repeat shows it.
std::string OthersAtWork(const Sweep& sweep) {
  double most = 0;
  size_t disturbed = 0;
  size_t runs = 0;
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    for (const RunFigure& run : ConfigurationAt(sweep, i).runs) {
      ++runs;
      if (run.others <= kOthersDisturb) continue;
      ++disturbed;
      most = std::max(most, run.others);
    }
  }
  if (disturbed == 0) return "";
  return fmt::format(
      "other programs or virtual machines had up to {} of the cores in {} of {}: rates may be off "
      "by "
      "more than their intervals",
      words::Percent(most), disturbed, words::Counted(runs, "run"));
}

}  // namespace

report::SweepTable TableOf(const Sweep& sweep) {
  report::SweepTable table;
  table.title = sweep.name;
  table.trace = sweep.trace;
  table.what = WordFor(sweep.kind);
  table.emulated = sweep.emulated;
  table.complete = IsComplete(sweep);
  table.repeats = sweep.repeats;
  if (sweep.counts_steps) table.counted = "steps";
  for (const Axis& axis : sweep.axes) table.axes.push_back({axis.path, axis.values});
  table.base = sweep.base_point.value_or(0);
  if (!sweep.base_point.has_value()) table.rows.push_back(RowOf(sweep, sweep.base));
  for (const Point& point : sweep.points) table.rows.push_back(RowOf(sweep, point));
  NoteTheBest(sweep, table.rows.size() - sweep.points.size(), table);
  const PredictionErrors errors = ErrorsOf(sweep);
  table.accuracy = {
      errors.points,     errors.median, errors.p95, errors.covered, errors.median_half_width,
      errors.best_within};
  table.warnings = sweep.warnings;
  if (std::string others = OthersAtWork(sweep); !others.empty()) {
    table.warnings.push_back(std::move(others));
  }
  return table;
}

}  // namespace stallscope::replay
