#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_sweep_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

constexpr double kNames = 170;
constexpr double kCellHeight = 34;
constexpr double kHead = 40;
constexpr size_t kMostValues = 40;
constexpr size_t kMostMaps = 15;

// From light to dark blue, the same on a light and a dark page: the figures stand in the cells.
struct Shade {
  std::string color;
  bool dark = false;
};
Shade ShadeOf(double share) {
  constexpr std::array<double, 3> kLight = {222, 235, 247};
  constexpr std::array<double, 3> kDark = {8, 69, 148};
  share = std::clamp(share, 0.0, 1.0);
  std::array<int, 3> mixed{};
  for (size_t i = 0; i < mixed.size(); ++i) {
    mixed[i] = static_cast<int>(std::lround(kLight[i] + (kDark[i] - kLight[i]) * share));
  }
  return {fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]), share > 0.5};
}

// The fastest row for each pair of values.
using Cells = std::map<std::pair<size_t, size_t>, size_t>;

size_t IndexOf(const SweepAxis& axis, const std::string& value) {
  return static_cast<size_t>(std::find(axis.values.begin(), axis.values.end(), value) -
                             axis.values.begin());
}

Cells FastestCells(const SweepTable& table, size_t across, size_t down) {
  Cells cells;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const SweepRow& row = table.rows[i];
    const auto rate = RateOf(row);
    if (row.values.size() != table.axes.size() || !rate) continue;
    const size_t x = IndexOf(table.axes[across], row.values[across]);
    const size_t y = across == down ? 0 : IndexOf(table.axes[down], row.values[down]);
    const auto [cell, fresh] = cells.try_emplace({x, y}, i);
    if (!fresh && *rate > *RateOf(table.rows[cell->second])) cell->second = i;
  }
  return cells;
}

std::string Text(double x, double y, const char* anchor, const std::string& text,
                 const char* kind = "") {
  return fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", kind, x, y,
                     anchor, EscapeMarkup(text));
}

std::string CellSvg(const SweepRow& row, const std::string& counted, double x, double y,
                    double width, double share, bool best) {
  const Shade shade = ShadeOf(share);
  const std::string figure = words::Number(*RateOf(row));
  std::string title = row.name + ": " + figure + " " + counted + "/s";
  title += row.measured ? ", measured" : ", predicted";
  std::string svg = fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"{}\"{}/>",
      EscapeMarkup(title), x + 1, y + 1, width - 2, kCellHeight - 2, shade.color,
      best ? " class=\"bound\"" : "");
  if (width > 9.0 * static_cast<double>(figure.size())) {
    svg += Text(x + width / 2, y + kCellHeight / 2 + 4, "middle", figure,
                shade.dark ? " class=\"on light\"" : " class=\"on\"");
  }
  return svg + "</g>";
}

std::string HeatMap(const SweepTable& table, size_t across, size_t down) {
  const SweepAxis& wide = table.axes[across];
  const bool one_axis = across == down;
  const size_t columns = std::min(wide.values.size(), kMostValues);
  const size_t lines = one_axis ? 1 : std::min(table.axes[down].values.size(), kMostValues);
  const Cells cells = FastestCells(table, across, down);
  if (cells.empty()) return "";
  double least = HUGE_VAL;
  double most = 0;
  for (const auto& [place, row] : cells) {
    least = std::min(least, *RateOf(table.rows[row]));
    most = std::max(most, *RateOf(table.rows[row]));
  }
  const double width = (kPageWidth - kNames) / static_cast<double>(columns);
  std::string svg = Text(kNames, 12, "start", Printable(wide.path), " class=\"faint\"");
  for (size_t x = 0; x < columns; ++x) {
    svg += Text(kNames + width * (static_cast<double>(x) + 0.5), kHead - 8, "middle",
                words::CutTo(Printable(wide.values[x]), 14));
  }
  for (size_t y = 0; y < lines && !one_axis; ++y) {
    svg += Text(kNames - 8, kHead + kCellHeight * (static_cast<double>(y) + 0.5) + 4, "end",
                words::CutTo(Printable(table.axes[down].values[y]), 22));
  }
  if (!one_axis) {
    svg += Text(0, 12, "start", words::CutTo(Printable(table.axes[down].path), 24),
                " class=\"faint\"");
  }
  for (const auto& [place, row] : cells) {
    if (place.first >= columns || place.second >= lines) continue;
    const double rate = *RateOf(table.rows[row]);
    const double share = most > least ? (rate - least) / (most - least) : 0;
    svg += CellSvg(
        table.rows[row], table.counted, kNames + width * static_cast<double>(place.first),
        kHead + kCellHeight * static_cast<double>(place.second), width, share, rate == most);
  }
  const std::string label = one_axis
                                ? "Throughput over " + wide.path
                                : "Throughput over " + wide.path + " and " + table.axes[down].path;
  return fmt::format(
      "<div class=\"scroll\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "{}</svg></div>\n",
      kPageWidth, kHead + kCellHeight * static_cast<double>(lines), EscapeMarkup(label), svg);
}

}  // namespace

std::string HeatMaps(const SweepTable& table) {
  if (table.axes.empty()) return "";
  if (table.axes.size() == 1) return HeatMap(table, 0, 0);
  std::string text;
  size_t maps = 0;
  for (size_t down = 0; down < table.axes.size(); ++down) {
    for (size_t across = down + 1; across < table.axes.size() && maps < kMostMaps; ++across) {
      const std::string map = HeatMap(table, across, down);
      if (map.empty()) continue;
      // The first pair is open; the page has no script that could choose.
      text +=
          fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", maps == 0 ? " open" : "",
                      EscapeMarkup(table.axes[down].path + " and " + table.axes[across].path), map);
      ++maps;
    }
  }
  if (!text.empty() && table.axes.size() > 2) {
    text += "<p class=\"faint\">A cell has the fastest configuration with its two values.</p>\n";
  }
  return text;
}

}  // namespace stallscope::report::html
