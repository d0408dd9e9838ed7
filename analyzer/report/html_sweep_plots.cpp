#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_sweep_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

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
    return kLeft + (kPageWidth - kLeft - 20) * Share(value, x_low_, x_high_);
  }
  double Y(double value) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * Share(value, y_low_, y_high_);
  }

  template <class Words>
  std::string Axes(const std::string& x_name, const std::string& y_name, Words&& x_words) const {
    std::string svg = fmt::format("<path class=\"edge\" d=\"M{0} {1}V{2}H{3}\"/>", kLeft, kTop,
                                  kHeight - kBottom, kPageWidth - 20);
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
        kPageWidth - 20, kHeight - 6, EscapeMarkup(x_name), kLeft + 10, kTop + 10,
        EscapeMarkup(y_name));
    return svg;
  }

  static std::string Picture(const std::string& label, const std::string& svg) {
    return fmt::format(
        "<div class=\"scroll\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
        "aria-label=\"{}\">{}</svg></div>\n",
        kPageWidth, kHeight, EscapeMarkup(label), svg);
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

}  // namespace

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
  std::string text = Plot::Picture("Throughput against memory", svg);
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
  return Plot::Picture("Predicted against measured throughput", svg);
}

}  // namespace stallscope::report::html
