#include "gui/viewmodel/sweep_plots.h"

#include <algorithm>
#include <cmath>

#include "gui/viewmodel/format.h"

namespace stallscope::viewmodel {
namespace {

constexpr size_t kSweepTicks = 5;

// From 0, so that heights compare, to a little above the largest.
struct Axis {
  double end = 1;
  explicit Axis(double largest) : end(largest > 0 ? largest * 1.08 : 1) {}
  float Of(double value) const { return static_cast<float>(std::clamp(value / end, 0.0, 1.0)); }
  template <class Text>
  std::vector<std::string> Ticks(Text&& text) const {
    std::vector<std::string> ticks;
    for (size_t i = 0; i < kSweepTicks; ++i) {
      ticks.push_back(text(end * static_cast<double>(i) / static_cast<double>(kSweepTicks - 1)));
    }
    return ticks;
  }
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
    text += std::string("\n") + what + " " + Rate(rate->samples_per_s) + " (" + Rate(rate->low) +
            " to " + Rate(rate->high) + ")";
  };
  add("predicted", row.predicted);
  add("measured", row.measured);
  if (row.memory_bytes) text += "\n" + BytesText(*row.memory_bytes);
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
    cell.text = Rate(*rate);
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
    plot.y_ticks = rates.Ticks([](double rate) { return Rate(rate); });
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
  plot.title = "throughput for memory";
  plot.x_name = "memory";
  plot.y_name = table.counted + "/s";
  plot.x_ticks = memory.Ticks([](double bytes) { return BytesText(static_cast<uint64_t>(bytes)); });
  plot.y_ticks = rates.Ticks([](double rate) { return Rate(rate); });
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
  plot.title = "predicted against measured";
  plot.x_name = "measured";
  plot.y_name = "predicted";
  plot.x_ticks = rates.Ticks([](double rate) { return Rate(rate); });
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

}  // namespace stallscope::viewmodel
