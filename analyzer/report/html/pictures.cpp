#include "analyzer/report/html/pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/base/escape.h"
#include "analyzer/base/math.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

// --- Step time and lanes ---

std::string Key(std::string_view color, const std::string& text) {
  return fmt::format("<li><i style=\"background:{}\"></i>{}</li>", color, EscapeMarkup(text));
}

std::string Title(const std::string& text) { return "<title>" + EscapeMarkup(text) + "</title>"; }

// The layers of a lane. Categories have the palette's colours; of a stage's the waits for input
// are left bare, because waiting for input is what most stages do most of the time.
std::string_view LayerColor(std::string_view layer) {
  for (const attribution::Category category : attribution::kReportOrder) {
    if (layer == attribution::WordFor(category)) return LookOf(category).color;
  }
  if (layer == "work") return "#0072b2";
  if (layer == "full") return "#e69f00";
  if (layer == "wait") return "#cc79a7";
  return "";
}

// A layer as the outline of its columns, standing on the layers below it.
std::string LayerPath(const std::vector<float>& busy, std::vector<double>& floor, double x,
                      double column, double y, double height) {
  std::string path;
  for (size_t i = 0; i < busy.size();) {
    const double share = std::clamp(static_cast<double>(busy[i]), 0.0, 1.0);
    const double bottom = y + height * (1 - floor[i]);
    const double tall = height * std::min(share, 1 - floor[i]);
    size_t next = i + 1;
    // Equal columns beside each other are one rectangle.
    while (next < busy.size() && busy[next] == busy[i] && floor[next] == floor[i]) ++next;
    if (tall > 0.05) {
      path += fmt::format(
          "M{:.1f} {:.1f}h{:.2f}v{:.1f}h{:.2f}z", x + column * static_cast<double>(i), bottom,
          column * static_cast<double>(next - i), -tall, -column * static_cast<double>(next - i));
    }
    for (; i < next; ++i) floor[i] = std::min(1.0, floor[i] + share);
  }
  return path;
}

std::string LaneSvg(const timeline::Lane& lane, double y, double height) {
  constexpr double kNames = 150;
  const size_t columns = lane.busy.empty() ? 0 : lane.busy[0].size();
  std::string svg = fmt::format(
      "<text x=\"0\" y=\"{:.1f}\">{}</text><rect class=\"track\" x=\"{}\" y=\"{}\" width=\"{}\" "
      "height=\"{}\"/>",
      y + height / 2 + 4, EscapeMarkup(words::CutTo(Printable(lane.name), 22)), kNames, y,
      kPictureWidth - kNames, height);
  if (columns == 0) return svg;
  std::vector<double> floor(columns);
  for (size_t layer = 0; layer < lane.busy.size(); ++layer) {
    const std::string_view color = LayerColor(lane.layers[layer]);
    if (color.empty()) continue;
    const std::string path =
        LayerPath(lane.busy[layer], floor, kNames,
                  (kPictureWidth - kNames) / static_cast<double>(columns), y, height);
    if (!path.empty()) svg += fmt::format("<path fill=\"{}\" d=\"{}\"/>", color, path);
  }
  return svg;
}

// --- The graph of stages ---

constexpr double kBoxWidth = 132;
constexpr double kBoxHeight = 78;
constexpr double kGapX = 20;
constexpr double kGapY = 26;
constexpr size_t kPerRow = 7;  // a longer chain continues in the next row

struct Cell {
  double x = 0;
  double y = 0;
};

// How many stages are between each one and the sources. A file may contain a cycle: the rounds are
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
    kind += ", " + words::Counted(*stage.parallelism, "worker");
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

std::string Svg(double height, const std::string& label, const std::string& inside) {
  return fmt::format(
      "<div class=\"scroll\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "{}</svg></div>\n",
      kPictureWidth, height, EscapeMarkup(label), inside);
}

std::string Picture(const BreakdownFigure& figure) {
  constexpr double kHeight = 34;
  std::string svg;
  std::string keys;
  double x = 0;
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = figure.totals[attribution::At(category)];
    const Look& look = LookOf(category);
    const std::string word = CategoryWord(category, figure.emulated);
    if (!total.has_value()) {
      keys += Key("transparent", word + ": not known");
      continue;
    }
    const double share = std::clamp(total->fraction, 0.0, 1.0);
    const double width = std::min(share * kPictureWidth, kPictureWidth - x);
    const std::string label = word + " " + words::Percent(total->fraction);
    svg += fmt::format(
        "<g>{}<rect x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"/>",
        Title(label + ", " + words::Duration(total->ns)), x, width, kHeight, look.color);
    if (width > 9.0 * static_cast<double>(label.size())) {
      svg +=
          fmt::format("<text class=\"on{}\" x=\"{:.1f}\" y=\"22\" text-anchor=\"middle\">{}</text>",
                      category == attribution::Category::kSync ? " light" : "", x + width / 2,
                      EscapeMarkup(label));
    }
    svg += "</g>";
    x += width;
    keys += Key(look.color, total->bounded ? label + " (" + IntervalPhrase(*total) + ")" : label);
  }
  return Svg(kHeight, "Step time by category", svg) + "<ul class=\"legend\">" + keys + "</ul>\n";
}

std::string Picture(const LanesFigure& figure) {
  constexpr double kLane = 24;
  constexpr double kApart = 6;
  constexpr size_t kShown = 32;
  if (figure.lanes.empty()) return "";
  std::string svg;
  double y = 0;
  bool has_stages = false;
  for (size_t i = 0; i < std::min(figure.lanes.size(), kShown); ++i) {
    const timeline::Lane& lane = figure.lanes[i];
    svg += LaneSvg(lane, y, kLane);
    has_stages = has_stages || (!lane.layers.empty() && lane.layers[0] == "work");
    y += kLane + kApart;
  }
  svg += fmt::format(
      "<text class=\"faint\" x=\"150\" y=\"{:.0f}\">0</text>"
      "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>",
      y + 10, kPictureWidth, y + 10, words::Duration(figure.ns));
  std::string keys;
  if (has_stages) {
    keys = Key("#0072b2", "a stage at work") + Key("#e69f00", "waiting for room") +
           Key("#cc79a7", "other waits (io, lock, device)") +
           Key("var(--track)", "waiting for input, or idle");
  }
  std::string more;
  if (figure.lanes.size() > kShown) {
    more = fmt::format("<p class=\"faint\">and {} more lanes</p>", figure.lanes.size() - kShown);
  }
  return Svg(y + 16, "The run over time", svg) + more + "<ul class=\"legend\">" + keys + "</ul>\n";
}

std::string Picture(const StepTimesFigure& figure) {
  constexpr size_t kBins = 40;
  constexpr double kHeight = 130;
  std::vector<double> sorted;
  std::copy_if(figure.ms.begin(), figure.ms.end(), std::back_inserter(sorted),
               [](double ms) { return std::isfinite(ms); });
  if (sorted.size() < 3) return "";
  std::sort(sorted.begin(), sorted.end());
  // Nearly all of them; what lies beyond is in the last bar.
  const double low = sorted.front();
  const double high = std::max(Quantile(sorted, 0.99) * 1.05, low + 1e-6);
  if (!std::isfinite(high - low)) return "";
  std::array<size_t, kBins> bins{};
  for (const double ms : sorted) {
    const double place = (ms - low) / (high - low) * kBins;
    ++bins[std::min(kBins - 1, static_cast<size_t>(std::max(place, 0.0)))];
  }
  const auto most = static_cast<double>(*std::max_element(bins.begin(), bins.end()));
  const double wide = kPictureWidth / kBins;
  std::string svg;
  for (size_t i = 0; i < kBins; ++i) {
    if (bins[i] == 0) continue;
    const double tall = std::max(2.0, kHeight * static_cast<double>(bins[i]) / most);
    const double from = low + (high - low) * static_cast<double>(i) / kBins;
    const std::string upto =
        i + 1 == kBins ? "and more" : "to " + words::Number(from + (high - low) / kBins);
    svg += fmt::format(
        "<g>{}<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/></g>",
        Title(fmt::format("{} steps of {} {} ms", bins[i], words::Number(from), upto)),
        wide * static_cast<double>(i) + 1, kHeight - tall, wide - 2, tall);
  }
  svg += fmt::format("<rect class=\"track\" x=\"0\" y=\"{}\" width=\"{}\" height=\"1\"/>", kHeight,
                     kPictureWidth);
  for (int i = 0; i <= 4; ++i) {
    const char* anchor = i == 0 ? "start" : i == 4 ? "end" : "middle";
    svg += fmt::format(
        "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{} ms</text>",
        kPictureWidth * i / 4, kHeight + 18, anchor, words::Number(low + (high - low) * i / 4));
  }
  return Svg(kHeight + 24, "Step times", svg);
}

std::string Picture(const StageGraphFigure& figure) {
  const std::vector<StageRow>& stages = figure.stages;
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
  return Svg(height + 1, "The pipeline's stages", svg);
}

}  // namespace stallscope::report::html
