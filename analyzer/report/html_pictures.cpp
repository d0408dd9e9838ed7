#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/base/escape.h"
#include "analyzer/base/math.h"
#include "analyzer/report/html_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/palette.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

constexpr double kPageWidth = 1040;

std::string Svg(double height, const std::string& label, const std::string& inside) {
  return fmt::format(
      "<div class=\"scroll\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">"
      "{}</svg></div>\n",
      kPageWidth, height, EscapeMarkup(label), inside);
}

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
  constexpr double kLaneNames = 150;
  const size_t columns = lane.busy.empty() ? 0 : lane.busy[0].size();
  std::string svg = fmt::format(
      "<text x=\"0\" y=\"{:.1f}\">{}</text><rect class=\"track\" x=\"{}\" y=\"{}\" width=\"{}\" "
      "height=\"{}\"/>",
      y + height / 2 + 4, EscapeMarkup(words::CutTo(Printable(lane.name), 22)), kLaneNames, y,
      kPageWidth - kLaneNames, height);
  if (columns == 0) return svg;
  std::vector<double> floor(columns);
  for (size_t layer = 0; layer < lane.busy.size(); ++layer) {
    const std::string_view color = LayerColor(lane.layers[layer]);
    if (color.empty()) continue;
    const std::string path =
        LayerPath(lane.busy[layer], floor, kLaneNames,
                  (kPageWidth - kLaneNames) / static_cast<double>(columns), y, height);
    if (!path.empty()) svg += fmt::format("<path fill=\"{}\" d=\"{}\"/>", color, path);
  }
  return svg;
}

}  // namespace

std::string BreakdownBar(const Report& report) {
  constexpr double kHeight = 34;
  std::string svg;
  std::string keys;
  double x = 0;
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = report.breakdown[attribution::At(category)];
    const Look& look = LookOf(category);
    const std::string word(look.word);
    if (!total.has_value()) {
      keys += Key("transparent", word + ": not known");
      continue;
    }
    const double share = std::clamp(total->fraction, 0.0, 1.0);
    const double width = std::min(share * kPageWidth, kPageWidth - x);
    const std::string figure = word + " " + words::Percent(total->fraction);
    svg += fmt::format(
        "<g>{}<rect x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"/>",
        Title(figure + ", " + words::Duration(total->ns)), x, width, kHeight, look.color);
    if (width > 9.0 * static_cast<double>(figure.size())) {
      svg +=
          fmt::format("<text class=\"on{}\" x=\"{:.1f}\" y=\"22\" text-anchor=\"middle\">{}</text>",
                      category == attribution::Category::kSync ? " light" : "", x + width / 2,
                      EscapeMarkup(figure));
    }
    svg += "</g>";
    x += width;
    keys += Key(look.color,
                figure + fmt::format(" ({:.1f} to {:.1f})", total->low * 100, total->high * 100));
  }
  return Svg(kHeight, "Step time by category", svg) + "<ul class=\"legend\">" + keys + "</ul>\n";
}

std::string Timeline(const Pictures& pictures) {
  constexpr double kLane = 24;
  constexpr double kApart = 6;
  constexpr size_t kShown = 32;
  if (pictures.lanes.empty()) return "";
  std::string svg;
  double y = 0;
  bool has_stages = false;
  for (size_t i = 0; i < std::min(pictures.lanes.size(), kShown); ++i) {
    const timeline::Lane& lane = pictures.lanes[i];
    svg += LaneSvg(lane, y, kLane);
    has_stages = has_stages || (!lane.layers.empty() && lane.layers[0] == "work");
    y += kLane + kApart;
  }
  svg += fmt::format(
      "<text class=\"faint\" x=\"150\" y=\"{:.0f}\">0</text>"
      "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>",
      y + 10, kPageWidth, y + 10, words::Duration(pictures.end_ns - pictures.start_ns));
  std::string keys;
  if (has_stages) {
    keys = Key("#0072b2", "a stage at work") + Key("#e69f00", "waiting for room") +
           Key("#cc79a7", "other waits (io, lock, device)") +
           Key("var(--track)", "waiting for input, or idle");
  }
  std::string more;
  if (pictures.lanes.size() > kShown) {
    more = fmt::format("<p class=\"faint\">and {} more lanes</p>", pictures.lanes.size() - kShown);
  }
  return Svg(y + 16, "The run over time", svg) + more + "<ul class=\"legend\">" + keys + "</ul>\n";
}

std::string StepHistogram(const std::vector<double>& step_ms) {
  constexpr size_t kBins = 40;
  constexpr double kHeight = 130;
  std::vector<double> sorted;
  std::copy_if(step_ms.begin(), step_ms.end(), std::back_inserter(sorted),
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
  const double wide = kPageWidth / kBins;
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
                     kPageWidth);
  for (int i = 0; i <= 4; ++i) {
    const char* anchor = i == 0 ? "start" : i == 4 ? "end" : "middle";
    svg += fmt::format(
        "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{} ms</text>",
        kPageWidth * i / 4, kHeight + 18, anchor, words::Number(low + (high - low) * i / 4));
  }
  return Svg(kHeight + 24, "Step times", svg);
}

}  // namespace stallscope::report::html
