#include "analyzer/report/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/palette.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/text_sections.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using attribution::Category;

constexpr size_t kLongTable = 12;

std::string AndMore(size_t all, const char* what) {
  return all > kLongTable
             ? fmt::format("  and {} more {}\n", words::Grouped(all - kLongTable), what)
             : "";
}

// The bar and one row a category.
std::string Breakdown(const Report& report, bool colors) {
  constexpr size_t kBar = 96;
  std::vector<std::pair<Category, attribution::CategoryTotal>> totals;
  for (const Category category : attribution::kReportOrder) {
    const auto& total = report.breakdown[attribution::At(category)];
    if (total.has_value()) totals.emplace_back(category, *total);
  }
  std::string bar;
  double sum = 0;
  size_t drawn = 0;
  Rows rows{{"", "category", "time", "share", "95% interval"}};
  for (const auto& [category, total] : totals) {
    sum += std::clamp(total.fraction, 0.0, 1.0);
    const auto until = std::min(kBar, static_cast<size_t>(sum * kBar + 0.5));
    const Look& look = LookOf(category);
    const std::string piece(until - std::min(drawn, until), look.glyph);
    drawn = std::max(drawn, until);
    if (!piece.empty()) {
      bar += colors ? fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", look.terminal, piece) : piece;
    }
    rows.push_back({std::string(1, look.glyph), std::string(look.word), words::Duration(total.ns),
                    words::Percent(total.fraction),
                    fmt::format("{:.1f} to {:.1f}", total.low * 100, total.high * 100)});
  }
  if (totals.empty()) return "";
  return Heading("Where the step time goes", colors) + "  " + bar + "\n" + Table(rows, {2, 3, 4});
}

std::string Figures(const Report& report) {
  Rows rows;
  if (report.throughput.has_value()) {
    rows.push_back({"throughput", fmt::format("{} samples/s ({} to {})",
                                              words::Number(report.throughput->samples_per_s),
                                              words::Number(report.throughput->low),
                                              words::Number(report.throughput->high))});
  }
  if (report.step_ms.has_value()) {
    const attribution::Quantiles& step = *report.step_ms;
    rows.push_back({"step time", fmt::format("mean {} ms, p50 {}, p95 {}, p99 {}",
                                             words::Number(step.mean), words::Number(step.p50),
                                             words::Number(step.p95), words::Number(step.p99))});
  }
  return rows.empty() ? "" : "\n" + Table(rows, {});
}

std::string Blame(const Report& report, bool colors) {
  if (report.blame.empty()) return "";
  Rows rows{{"stage", "cause", "time", "share"}};
  for (size_t i = 0; i < std::min(report.blame.size(), kLongTable); ++i) {
    const BlameRow& row = report.blame[i];
    rows.push_back({row.stage, std::string(attribution::WordFor(row.cause)),
                    words::Duration(row.ns), words::Percent(row.fraction)});
  }
  return Heading("What the stall waited for", colors) + Table(rows, {2, 3}) +
         AndMore(report.blame.size(), "rows");
}

std::string Stages(const Report& report, bool colors) {
  if (report.stages.empty()) return "";
  Rows rows{{"stage", "kind", "workers", "service ms", "busy", "capacity/s", "starved", "blocked",
             "queue"}};
  for (const StageRow& stage : report.stages) {
    rows.push_back(
        {stage.name, stage.kind, words::CountOrDash(stage.parallelism),
         stage.service_ms ? words::Number(stage.service_ms->mean) : std::string(words::kUnknown),
         words::PercentOrDash(stage.utilization), words::NumberOrDash(stage.capacity_samples_per_s),
         words::PercentOrDash(stage.starved), words::PercentOrDash(stage.blocked),
         QueuePhrase(stage.queue)});
  }
  return Heading("Stages", colors) + Table(rows, {2, 3, 4, 5, 6, 7, 8});
}

// The run in one line. A path that does not fit in has its own: broken somewhere inside it could
// be neither read nor copied.
std::string RunLines(const Report& report) {
  const std::string device = DevicePhrase(report);
  const std::string what = WindowPhrase(report) + (device.empty() ? "" : ", on " + device);
  const std::string name = report.name.empty() ? "" : report.name + ", ";
  const std::string whole = Printable(name + report.trace + ": " + what);
  if (words::TextWidth(whole) + 2 <= kTextWidth) return Lines(whole, 2, 4);
  return "  " + words::EndOf(Printable(report.trace), kTextWidth - 2) + "\n" +
         Lines(name + what, 2, 4);
}

}  // namespace

std::string Heading(const std::string& text, bool colors) {
  return "\n" + Paint(text, Tone::kStrong, colors) + "\n";
}

std::string Lines(std::string_view text, size_t begin, size_t indent) {
  std::string lines;
  const std::string first(begin, ' ');
  for (const std::string& line : words::Wrapped(text, kTextWidth - begin, indent - begin)) {
    lines += first + line;
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += '\n';
  }
  return lines;
}

std::string WriteText(const Report& report, const TextOptions& options) {
  const bool colors = options.colors;
  const bool certain = report.verdict.bound != findings::Bound::kInconclusive;
  std::string text = Painted(Lines(report.trust.line, 0, 2),
                             report.trust.complete ? Tone::kGood : Tone::kBad, colors);
  for (const std::string& warning : report.trust.warnings)
    text += Lines("warning: " + warning, 2, 4);
  text += "\n" + Painted(Lines(report.verdict.text, 0, 2), Tone::kStrong, colors);
  if (certain) {
    text += Lines(fmt::format("confidence {:.0f}%", report.verdict.confidence * 100), 2, 4);
  }
  for (const std::string& doubt : report.verdict.doubts) text += Lines(doubt, 2, 4);
  text += RunLines(report);
  text += Figures(report) + Breakdown(report, colors) + Blame(report, colors) +
          Stages(report, colors) + Findings(report, options) + Devices(report, colors) +
          Memory(report, colors) + Stragglers(report, colors) + BudgetSection(report, colors);
  if (report.against_base.has_value()) {
    text += Heading("Against the base", colors) + WriteText(*report.against_base, options);
  }
  return text + Limits(report, colors);
}

}  // namespace stallscope::report
