#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/base/escape.h"
#include "analyzer/report/html/pictures.h"
#include "analyzer/report/sweep_table.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

// --- Heat maps ---

constexpr double kNames = 170;
constexpr double kCellHeight = 34;
constexpr double kHead = 40;
constexpr size_t kMostValues = 40;
constexpr size_t kMostMaps = 15;

// From light to dark blue, the same on a light and a dark page: the figures are in the cells.
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
  const double width = (kPictureWidth - kNames) / static_cast<double>(columns);
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
  return Svg(kHead + kCellHeight * static_cast<double>(lines), label, svg);
}

// One map per pair of axes: a cell has the fastest row with those two values, whatever the others
// are. A single axis gives one line of cells.
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
    text +=
        "<p class=\"faint\">Each cell shows the fastest configuration with its two values.</p>\n";
  }
  return text;
}

// --- Plots ---

constexpr double kHeight = 380;
constexpr double kLeft = 80;
constexpr double kBottom = 44;
constexpr double kTop = 12;
constexpr int kTicks = 4;

// A plane with two axes; every value that is drawn lies within them.
class Plot {
 public:
  Plot(double x_low, double x_high, double y_low, double y_high)
      : x_low_(x_low), x_high_(x_high), y_low_(y_low), y_high_(y_high) {}

  double X(double value) const {
    return kLeft + (kPictureWidth - kLeft - 20) * Share(value, x_low_, x_high_);
  }
  double Y(double value) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * Share(value, y_low_, y_high_);
  }

  template <class Words>
  std::string Axes(const std::string& x_name, const std::string& y_name, Words&& x_words) const {
    std::string svg = fmt::format("<path class=\"edge\" d=\"M{0} {1}V{2}H{3}\"/>", kLeft, kTop,
                                  kHeight - kBottom, kPictureWidth - 20);
    for (int i = 0; i <= kTicks; ++i) {
      const double x = x_low_ + (x_high_ - x_low_) * i / kTicks;
      const double y = y_low_ + (y_high_ - y_low_) * i / kTicks;
      svg += fmt::format(
          "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>"
          "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>",
          X(x), kHeight - kBottom + 18, EscapeMarkup(x_words(x)), kLeft - 8, Y(y) + 4,
          EscapeMarkup(words::Number(y)));
    }
    svg += fmt::format(
        "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>"
        "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>",
        kPictureWidth - 20, kHeight - 6, EscapeMarkup(x_name), kLeft + 10, kTop + 10,
        EscapeMarkup(y_name));
    return svg;
  }

 private:
  static double Share(double value, double low, double high) {
    return high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
  }
  double x_low_;
  double x_high_;
  double y_low_;
  double y_high_;
};

std::string Dot(double x, double y, const std::string& title, const char* kind) {
  return fmt::format(
      "<g><title>{}</title><circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/></g>",
      EscapeMarkup(title), kind, x, y);
}

std::string RowTitle(const SweepRow& row) {
  std::string title = row.name + ": " + words::Number(*RateOf(row)) + " samples/s";
  if (row.memory_bytes) title += ", " + words::Bytes(*row.memory_bytes);
  return title;
}

// Every row that has both figures, and the front. Empty where no two rows do.
std::string ParetoPicture(const SweepTable& table) {
  double most_memory = 0;
  double most_rate = 0;
  size_t dots = 0;
  for (const SweepRow& row : table.rows) {
    const auto rate = RateOf(row);
    if (!rate || !row.memory_bytes) continue;
    most_memory = std::max(most_memory, static_cast<double>(*row.memory_bytes));
    most_rate = std::max(most_rate, *rate);
    ++dots;
  }
  if (dots < 2) return "";
  const Plot plot(0, most_memory * 1.05, 0, most_rate * 1.05);
  const std::vector<size_t> front = ParetoFront(table);
  std::string svg = plot.Axes("memory at most", "samples/s", [](double bytes) {
    return words::Bytes(static_cast<uint64_t>(bytes));
  });
  std::string path;
  for (const size_t row : front) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L",
                        plot.X(static_cast<double>(*table.rows[row].memory_bytes)),
                        plot.Y(*RateOf(table.rows[row])));
  }
  svg += "<path class=\"edge\" d=\"" + path + "\"/>";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const SweepRow& row = table.rows[i];
    if (!RateOf(row) || !row.memory_bytes) continue;
    const bool on_front = std::find(front.begin(), front.end(), i) != front.end();
    svg += Dot(plot.X(static_cast<double>(*row.memory_bytes)), plot.Y(*RateOf(row)), RowTitle(row),
               on_front ? "hot" : "bar");
  }
  std::string text = Svg(kHeight, "Throughput against memory", svg);
  text +=
      "<p class=\"faint\">On the line: no other configuration is faster with as little memory."
      "</p>\n";
  return text;
}

std::string PredictedAgainstMeasured(const SweepTable& table) {
  double most = 0;
  for (const SweepRow& row : table.rows) {
    if (row.failed || !row.predicted || !row.measured) continue;
    most = std::max({most, row.predicted->high, row.measured->high});
  }
  if (!(most > 0)) return "";
  const Plot plot(0, most * 1.03, 0, most * 1.03);
  std::string svg = plot.Axes("measured samples/s", "predicted samples/s",
                              [](double rate) { return words::Number(rate); });
  svg += fmt::format("<path class=\"edge\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", plot.X(0),
                     plot.Y(0), plot.X(most), plot.Y(most));
  for (const SweepRow& row : table.rows) {
    if (row.failed || !row.predicted || !row.measured) continue;
    const double x = plot.X(row.measured->samples_per_s);
    const double y = plot.Y(row.predicted->samples_per_s);
    svg +=
        fmt::format("<path class=\"edge\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\"/>",
                    x, plot.Y(row.predicted->low), plot.Y(row.predicted->high),
                    plot.X(row.measured->low), y, plot.X(row.measured->high));
    svg += Dot(x, y,
               fmt::format("{}: predicted {}, measured {} samples/s", row.name,
                           words::Number(row.predicted->samples_per_s),
                           words::Number(row.measured->samples_per_s)),
               "bar");
  }
  return Svg(kHeight, "Predicted against measured throughput", svg);
}

}  // namespace

std::string Picture(const SweepFigure& figure) {
  switch (figure.kind) {
    case SweepFigure::Kind::kHeatMaps:
      return HeatMaps(*figure.table);
    case SweepFigure::Kind::kParetoFront:
      return ParetoPicture(*figure.table);
    case SweepFigure::Kind::kPredictedAgainstMeasured:
      return PredictedAgainstMeasured(*figure.table);
  }
  return "";
}

}  // namespace stallscope::report::html
