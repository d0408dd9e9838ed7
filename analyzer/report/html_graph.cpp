#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/phrases.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

constexpr double kBoxWidth = 132;
constexpr double kBoxHeight = 78;
constexpr double kGapX = 20;
constexpr double kGapY = 26;
constexpr size_t kPerRow = 7;  // a chain that is longer goes on in the next row

struct Cell {
  double x = 0;
  double y = 0;
};

// How many stages lie between each and the sources. A file may hold a circle: the rounds are
// bounded.
std::vector<size_t> Depths(const std::vector<StageRow>& stages,
                           const std::map<std::string, size_t>& by_name) {
  std::vector<size_t> depths(stages.size());
  for (size_t round = 0; round < std::min<size_t>(stages.size(), 64); ++round) {
    bool changed = false;
    for (size_t i = 0; i < stages.size(); ++i) {
      for (const std::string& input : stages[i].inputs) {
        const auto from = by_name.find(input);
        if (from == by_name.end() || from->second == i) continue;
        const size_t depth = std::min(depths[from->second] + 1, stages.size() - 1);
        changed = changed || depth > depths[i];
        depths[i] = std::max(depths[i], depth);
      }
    }
    if (!changed) break;
  }
  return depths;
}

// Depth by depth from the left, those of the same depth below each other.
std::vector<Cell> Places(const std::vector<size_t>& depths, double& height) {
  std::map<size_t, std::vector<size_t>> by_depth;
  for (size_t i = 0; i < depths.size(); ++i) by_depth[depths[i]].push_back(i);
  std::vector<Cell> cells(depths.size());
  double top = 0;
  size_t column = 0;
  size_t tallest = 0;
  for (const auto& [depth, members] : by_depth) {
    if (column == kPerRow) {
      top += static_cast<double>(tallest) * (kBoxHeight + kGapY);
      column = tallest = 0;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      cells[members[i]] = {static_cast<double>(column) * (kBoxWidth + kGapX),
                           top + static_cast<double>(i) * (kBoxHeight + kGapY)};
    }
    tallest = std::max(tallest, members.size());
    ++column;
  }
  height = top + static_cast<double>(tallest) * (kBoxHeight + kGapY) - kGapY;
  return cells;
}

std::string Edge(const Cell& from, const Cell& to) {
  const double x1 = from.x + kBoxWidth;
  const double y1 = from.y + kBoxHeight / 2;
  const double y2 = to.y + kBoxHeight / 2;
  if (to.x > from.x) {
    const double middle = (x1 + to.x) / 2;
    return fmt::format(
        "<path class=\"edge\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} "
        "{:.0f}m-5 -4l5 4l-5 4\"/>",
        x1, y1, middle, y1, middle, y2, to.x, y2);
  }
  // Into the next row: down, along the gap between the rows and in from the left.
  const double between = to.y - kGapY / 2;
  const double in = to.x + kBoxWidth / 2;
  return fmt::format(
      "<path class=\"edge\" d=\"M{:.0f} {:.0f}V{:.0f}H{:.0f}V{:.0f}m-4 -5l4 5l4 -5\"/>",
      from.x + kBoxWidth / 2, from.y + kBoxHeight, between, in, to.y);
}

std::string Box(const StageRow& stage, const Cell& at) {
  const double busy = std::clamp(stage.utilization.value_or(0), 0.0, 1.0);
  const bool hot = busy >= 0.9;
  std::string tip = stage.name + " (" + stage.kind + "): ";
  tip += stage.utilization ? "busy " + words::Percent(*stage.utilization) : "not recorded";
  std::string kind = stage.kind;
  if (stage.parallelism.has_value()) {
    kind += fmt::format(", {} worker{}", *stage.parallelism, *stage.parallelism == 1 ? "" : "s");
  }
  const std::string capacity = stage.capacity_samples_per_s
                                   ? words::Number(*stage.capacity_samples_per_s) + "/s"
                                   : std::string();
  return fmt::format(
      "<g transform=\"translate({:.0f} {:.0f})\"><title>{}</title>"
      "<rect class=\"box{}\" x=\"1\" y=\"1\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"7\"/>"
      "<text x=\"10\" y=\"20\" font-weight=\"600\">{}</text>"
      "<text class=\"faint\" x=\"10\" y=\"36\">{}</text>"
      "<rect class=\"track\" x=\"10\" y=\"45\" width=\"{:.0f}\" height=\"7\" rx=\"3\"/>"
      "<rect class=\"{}\" x=\"10\" y=\"45\" width=\"{:.1f}\" height=\"7\" rx=\"3\"/>"
      "<text x=\"10\" y=\"68\">{}</text>"
      "<text class=\"faint\" x=\"{:.0f}\" y=\"68\" text-anchor=\"end\">{}</text></g>",
      at.x, at.y, EscapeMarkup(tip), hot ? " bound" : "", kBoxWidth - 2, kBoxHeight - 2,
      EscapeMarkup(words::CutTo(Printable(stage.name), 17)),
      EscapeMarkup(words::CutTo(Printable(kind), 20)), kBoxWidth - 20, hot ? "hot" : "bar",
      busy * (kBoxWidth - 20), EscapeMarkup(words::PercentOrDash(stage.utilization)),
      kBoxWidth - 10, EscapeMarkup(capacity));
}

}  // namespace

std::string StageGraph(const std::vector<StageRow>& stages) {
  constexpr size_t kMost = 200;
  if (stages.empty() || stages.size() > kMost) return "";
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < stages.size(); ++i) by_name.emplace(stages[i].name, i);
  double height = 0;
  const std::vector<Cell> cells = Places(Depths(stages, by_name), height);
  std::string svg;
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const std::string& input : stages[i].inputs) {
      const auto from = by_name.find(input);
      if (from != by_name.end() && from->second != i) svg += Edge(cells[from->second], cells[i]);
    }
  }
  for (size_t i = 0; i < stages.size(); ++i) svg += Box(stages[i], cells[i]);
  const double width = static_cast<double>(kPerRow) * (kBoxWidth + kGapX) - kGapX;
  return fmt::format(
      "<div class=\"scroll\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"The pipeline's stages\">{}</svg></div>\n",
      width, height + 1, svg);
}

}  // namespace stallscope::report::html
