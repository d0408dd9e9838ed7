#include "gui/viewmodel/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analyzer/report/finding_cards.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/axis.h"
#include "gui/viewmodel/phrases.h"
#include "replay/workbench/replaying.h"

namespace stallscope::viewmodel {
namespace {

// From 0, so that heights are comparable, to a round value above the largest one.
struct Axis {
  double end = 1;
  explicit Axis(double largest) : end(NiceEnd(largest)) {}
  float Of(double value) const { return static_cast<float>(std::clamp(value / end, 0.0, 1.0)); }
};

double LargestRate(const report::SweepTable& table) {
  double largest = 0;
  for (const report::SweepRow& row : table.rows) {
    if (row.predicted) largest = std::max(largest, row.predicted->high);
    if (row.measured) largest = std::max(largest, row.measured->high);
  }
  return largest;
}

std::string TooltipOf(const report::SweepRow& row) {
  std::string text = row.name;
  const auto add = [&](const char* what, const std::optional<report::SweepRate>& rate) {
    if (!rate.has_value()) return;
    text += std::string("\n") + what + " " + words::Rate(rate->samples_per_s) + " (" +
            words::Rate(rate->low) + " to " + words::Rate(rate->high) + ")";
  };
  if (row.gain) text += "\nmeasured gain " + report::MeasuredPhrase(*row.gain);
  if (row.gain && !row.gain->disturbed.empty()) text += "\ndisturbed: " + row.gain->disturbed;
  add("measured", row.measured);
  add("predicted", row.predicted);
  if (row.memory_bytes) text += "\n" + words::Bytes(*row.memory_bytes);
  if (!row.note.empty()) text += "\n" + row.note;
  return text;
}

std::optional<report::SweepRate> Best(const report::SweepRow& row, bool measured) {
  if (row.failed) return std::nullopt;
  return measured ? row.measured : row.predicted;
}

std::optional<size_t> IndexOf(const std::vector<std::string>& values, const std::string& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

PlotLine LineOf(const report::SweepTable& table, size_t axis, bool measured, const Axis& rates) {
  const auto& values = table.axes[axis].values;
  const auto best_row = report::BestRow(table);
  PlotLine line;
  line.name = measured ? "measured" : "predicted";
  line.measured = measured;
  for (size_t v = 0; v < values.size(); ++v) {
    std::optional<size_t> best;
    for (size_t r = 0; r < table.rows.size(); ++r) {
      const report::SweepRow& row = table.rows[r];
      if (axis >= row.values.size() || row.values[axis] != values[v] || !Best(row, measured)) {
        continue;
      }
      if (!best ||
          Best(row, measured)->samples_per_s > Best(table.rows[*best], measured)->samples_per_s) {
        best = r;
      }
    }
    if (!best) continue;
    const report::SweepRate rate = *Best(table.rows[*best], measured);
    PlotPoint point;
    point.x =
        values.size() > 1 ? static_cast<float>(v) / static_cast<float>(values.size() - 1) : 0.5F;
    point.y = rates.Of(rate.samples_per_s);
    point.low = rates.Of(rate.low);
    point.high = rates.Of(rate.high);
    point.row = *best;
    point.best = best == best_row;
    point.base = *best == table.base;
    point.tooltip = TooltipOf(table.rows[*best]);
    line.points.push_back(std::move(point));
  }
  return line;
}

}  // namespace

std::optional<SweepHeat> HeatOf(const report::SweepTable& table) {
  if (table.axes.size() < 2) return std::nullopt;
  SweepHeat heat;
  heat.x_path = table.axes[0].path;
  heat.y_path = table.axes[1].path;
  heat.x_values = table.axes[0].values;
  heat.y_values = table.axes[1].values;
  heat.cells.assign(heat.y_values.size(), std::vector<SweepHeat::Cell>(heat.x_values.size()));
  const auto best = report::BestRow(table);
  double slowest = 0;
  double fastest = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const report::SweepRow& row = table.rows[r];
    const auto rate = report::RateOf(row);
    if (row.values.size() < 2 || !rate) continue;
    const auto x = IndexOf(heat.x_values, row.values[0]);
    const auto y = IndexOf(heat.y_values, row.values[1]);
    if (!x || !y) continue;
    SweepHeat::Cell& cell = heat.cells[*y][*x];
    cell.base = cell.base || r == table.base;
    if (cell.rate && *cell.rate >= *rate) continue;
    cell.rate = rate;
    cell.measured = row.measured.has_value();
    cell.best = r == best;
    cell.text = words::Rate(*rate);
    cell.tooltip = TooltipOf(row);
    slowest = slowest == 0 ? *rate : std::min(slowest, *rate);
    fastest = std::max(fastest, *rate);
  }
  for (auto& row : heat.cells) {
    for (SweepHeat::Cell& cell : row) {
      if (!cell.rate) continue;
      cell.level = fastest > slowest
                       ? static_cast<float>((*cell.rate - slowest) / (fastest - slowest))
                       : 1.F;
    }
  }
  return heat;
}

std::vector<Plot> LinesOf(const report::SweepTable& table) {
  std::vector<Plot> plots;
  const Axis rates(LargestRate(table));
  for (size_t axis = 0; axis < table.axes.size(); ++axis) {
    Plot plot;
    plot.title = table.axes[axis].path;
    plot.x_name = table.axes[axis].path;
    plot.y_name = table.counted + "/s";
    plot.x_ticks = table.axes[axis].values;
    plot.y_ticks = TickTexts(0, rates.end, &words::Rate);
    for (const bool measured : {false, true}) {
      PlotLine line = LineOf(table, axis, measured, rates);
      if (!line.points.empty()) plot.lines.push_back(std::move(line));
    }
    if (!plot.lines.empty()) plots.push_back(std::move(plot));
  }
  return plots;
}

std::optional<Plot> ParetoOf(const report::SweepTable& table) {
  uint64_t most = 0;
  for (const report::SweepRow& row : table.rows) {
    if (row.memory_bytes && report::RateOf(row)) most = std::max(most, *row.memory_bytes);
  }
  if (most == 0) return std::nullopt;
  const Axis memory(static_cast<double>(most));
  const Axis rates(LargestRate(table));
  const auto best = report::BestRow(table);
  Plot plot;
  plot.title = "Throughput by memory";
  plot.x_name = "memory";
  plot.y_name = table.counted + "/s";
  plot.x_ticks = TickTexts(0, memory.end,
                           [](double bytes) { return words::Bytes(static_cast<uint64_t>(bytes)); });
  plot.y_ticks = TickTexts(0, rates.end, &words::Rate);
  const auto point_of = [&](size_t r) {
    const report::SweepRow& row = table.rows[r];
    PlotPoint point;
    point.x = memory.Of(static_cast<double>(*row.memory_bytes));
    point.y = rates.Of(*report::RateOf(row));
    point.low = point.y;
    point.high = point.y;
    point.row = r;
    point.best = r == best;
    point.base = r == table.base;
    point.tooltip = TooltipOf(row);
    return point;
  };
  for (size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].memory_bytes && report::RateOf(table.rows[r]))
      plot.dots.push_back(point_of(r));
  }
  PlotLine front;
  front.name = "Pareto front";
  front.measured = true;
  for (const size_t r : report::ParetoFront(table)) {
    if (table.rows[r].memory_bytes && report::RateOf(table.rows[r]))
      front.points.push_back(point_of(r));
  }
  plot.lines.push_back(std::move(front));
  return plot;
}

std::optional<Plot> AccuracyOf(const report::SweepTable& table) {
  const Axis rates(LargestRate(table));
  Plot plot;
  plot.title = "Predicted against measured";
  plot.x_name = "measured";
  plot.y_name = "predicted";
  plot.x_ticks = TickTexts(0, rates.end, &words::Rate);
  plot.y_ticks = plot.x_ticks;
  const auto best = report::BestRow(table);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const report::SweepRow& row = table.rows[r];
    if (!row.predicted || !row.measured || row.failed) continue;
    PlotPoint point;
    point.x = rates.Of(row.measured->samples_per_s);
    point.x_low = rates.Of(row.measured->low);
    point.x_high = rates.Of(row.measured->high);
    point.y = rates.Of(row.predicted->samples_per_s);
    point.low = rates.Of(row.predicted->low);
    point.high = rates.Of(row.predicted->high);
    point.row = r;
    point.best = r == best;
    point.base = r == table.base;
    point.tooltip = TooltipOf(row);
    plot.dots.push_back(std::move(point));
  }
  if (plot.dots.empty()) return std::nullopt;
  PlotLine same;
  same.name = "as predicted";
  same.points.resize(2);
  same.points[1].x = 1;
  same.points[1].y = 1;
  same.points[1].low = 1;
  same.points[1].high = 1;
  plot.lines.push_back(std::move(same));
  return plot;
}

namespace {

// Values worth trying: the current one, halved, doubled and quadrupled.
std::string Suggestion(const KnobInfo& knob) {
  std::vector<std::string> values;
  if (knob.type == KnobType::kBoolean) {
    values = {"false", "true"};
  } else if (knob.type == KnobType::kWord) {
    values = knob.words;
  } else if (knob.type == KnobType::kInteger && knob.range.has_value()) {
    int64_t now = 1;
    std::from_chars(knob.value.data(), knob.value.data() + knob.value.size(), now);
    for (const int64_t value : {now / 2, now, now * 2, now * 4}) {
      const bool fits = static_cast<double>(value) >= knob.range->min &&
                        static_cast<double>(value) <= knob.range->max;
      const std::string text = std::to_string(value);
      if (fits && std::find(values.begin(), values.end(), text) == values.end()) {
        values.push_back(text);
      }
    }
  }
  if (values.size() < 2) return {};
  std::string line = knob.path + "=";
  for (size_t i = 0; i < values.size(); ++i) line += (i > 0 ? "," : "") + values[i];
  return line;
}

void AddKnobs(const model::Run& run, SweepModel& model) {
  const auto spec = workbench::RecordedSpec(run);
  if (!spec.ok()) {
    model.nothing =
        "The trace has no spec with knobs to vary. Lines that you type are checked against its "
        "stages.";
    return;
  }
  for (const KnobInfo& knob : ListKnobs(spec.value())) {
    const std::string suggestion = Suggestion(knob);
    // Some say what is trained on, or for how long.
    if (suggestion.empty() || knob.path == "seed" || knob.path == "trainer.steps" ||
        knob.path == "job.steps" || knob.path.ends_with(".join")) {
      continue;
    }
    model.knobs.push_back({knob.path, knob.value, suggestion, knob.doc});
  }
}

TableCell RateCell(const std::optional<report::SweepRate>& rate, double most) {
  if (!rate.has_value()) return {"-"};
  return {words::Rate(rate->samples_per_s),
          most > 0 ? std::optional(rate->samples_per_s / most) : std::nullopt,
          words::Rate(rate->low) + " to " + words::Rate(rate->high)};
}

void AddTable(const report::SweepTable& sweep, SweepModel& model) {
  double most = 0;
  for (const report::SweepRow& row : sweep.rows) {
    if (row.predicted) most = std::max(most, row.predicted->samples_per_s);
    if (row.measured) most = std::max(most, row.measured->samples_per_s);
  }
  // A measurement comes first. Columns without a figure in any row are left out.
  const auto any = [&](auto member) {
    return std::any_of(sweep.rows.begin(), sweep.rows.end(),
                       [&](const report::SweepRow& row) { return static_cast<bool>(row.*member); });
  };
  const bool gains = any(&report::SweepRow::gain);
  const bool measured = any(&report::SweepRow::measured);
  const bool predicted = any(&report::SweepRow::predicted);
  // Of a grid each knob has its column: names made of all of them would be cut until they are
  // alike.
  const bool grid = !sweep.axes.empty() &&
                    std::all_of(sweep.rows.begin(), sweep.rows.end(), [&](const auto& row) {
                      return row.values.size() == sweep.axes.size();
                    });
  if (grid) {
    for (const report::SweepAxis& axis : sweep.axes) model.table.columns.push_back({axis.path});
  } else {
    model.table.columns = {{"configuration"}};
  }
  if (gains) model.table.columns.push_back({"measured gain", true});
  if (measured) model.table.columns.push_back({"measured", true});
  if (predicted) model.table.columns.push_back({"predicted", true});
  model.table.columns.push_back({"memory", true});
  model.table.columns.push_back({"verdict", false});
  model.table.columns.push_back({"note", false});
  for (size_t r = 0; r < sweep.rows.size(); ++r) {
    const report::SweepRow& row = sweep.rows[r];
    std::vector<TableCell> cells;
    for (const std::string& name : grid ? row.values : std::vector<std::string>{row.name}) {
      cells.push_back({name});
    }
    if (r == sweep.base) cells[0].text += " (base)";
    if (gains) cells.push_back({row.gain ? report::MeasuredPhrase(*row.gain) : "-"});
    if (measured) cells.push_back(RateCell(row.measured, most));
    if (predicted) cells.push_back(RateCell(row.predicted, most));
    cells.push_back({words::BytesOrDash(row.memory_bytes)});
    cells.push_back({row.verdict});
    const std::string disturbed = row.gain ? row.gain->disturbed : "";
    cells.push_back({disturbed.empty()
                         ? row.note
                         : "disturbed: " + disturbed + (row.note.empty() ? "" : "; " + row.note)});
    model.table.rows.push_back(std::move(cells));
  }
}

std::string AccuracyText(const report::SweepAccuracy& accuracy) {
  if (accuracy.points == 0 || !accuracy.median.has_value()) return {};
  std::string text =
      fmt::format("{} points, median error {}", accuracy.points, words::Percent(*accuracy.median));
  if (accuracy.covered.has_value()) {
    text += ", " + words::Percent(*accuracy.covered) + " within the interval";
  }
  return text;
}

}  // namespace

SweepModel BuildSweep(const session::State& state) {
  SweepModel model;
  const session::SweepState& sweep = state.sweep;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr) {
    model.nothing = "Open a run to vary its knobs.";
  } else {
    AddKnobs(*open->run, model);
  }
  model.running = sweep.running;
  model.can_start = sweep.points > 0 && !sweep.running && !state.verify.running &&
                    !state.record.running && open != nullptr && open->whole.report != nullptr;
  if (sweep.points > 0) {
    model.points_text = words::Counted(sweep.points, "point");
    if (sweep.mode != session::SweepRunMode::kSimulate) {
      model.points_text += ", " + words::Grouped(sweep.points * sweep.repeats) + " runs";
    }
  }
  if (sweep.running) {
    model.done =
        sweep.total > 0 ? static_cast<double>(sweep.done) / static_cast<double>(sweep.total) : 0;
    model.progress = sweep.doing.empty() ? std::string("starting")
                                         : sweep.doing + ": " + words::Grouped(sweep.done) +
                                               " of " + words::Grouped(sweep.total);
  }
  if (sweep.error.has_value()) model.error = sweep.error->Line();
  if (sweep.table == nullptr) return model;
  const report::SweepTable& table = *sweep.table;
  if (table.emulated) {
    model.assumed =
        "Emulated: stages of the recorded cost ran without the data. These are no "
        "measurements of the run itself.";
  } else if (open != nullptr && open->run != nullptr) {
    model.assumed = AssumedOn(open->run->info.device);
  }
  model.heat = HeatOf(table);
  model.lines = LinesOf(table);
  model.pareto = ParetoOf(table);
  model.accuracy = AccuracyOf(table);
  model.accuracy_text = AccuracyText(table.accuracy);
  model.warnings = table.warnings;
  AddTable(table, model);
  return model;
}

}  // namespace stallscope::viewmodel
