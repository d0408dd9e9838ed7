#include "analyzer/report/html.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/phrases.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace html {

std::string Page(const std::string& title, const std::string& body) {
  // The policy forbids what the page does not need: it could not call home if a name tried to.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<main>\n{}</main>\n</body>\n</html>\n",
      EscapeMarkup(title), kStyle, body);
}

std::string Section(const std::string& title, const std::string& body) {
  if (body.empty()) return "";
  return "<section>\n<h2>" + EscapeMarkup(title) + "</h2>\n" + body + "</section>\n";
}

std::string Tile(const std::string& figure, const std::string& what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>", EscapeMarkup(figure),
                     EscapeMarkup(what));
}

std::string List(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = "<ul>";
  for (const std::string& line : lines) text += "<li>" + EscapeMarkup(line) + "</li>\n";
  return text + "</ul>\n";
}

std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right) {
  std::string text = "<div class=\"scroll\"><table>\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const char* cell = i == 0 ? "th" : "td";
    text += "<tr>";
    for (size_t k = 0; k < rows[i].size(); ++k) {
      const bool number = std::find(right.begin(), right.end(), k) != right.end();
      text += fmt::format("<{}{}>{}</{}>", cell, number ? " class=\"n\"" : "",
                          EscapeMarkup(rows[i][k]), cell);
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

}  // namespace html

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Tiles(const Report& report) {
  std::string tiles;
  if (report.throughput.has_value()) {
    tiles += html::Tile(words::Number(report.throughput->samples_per_s),
                        fmt::format("samples/s ({} to {})", words::Number(report.throughput->low),
                                    words::Number(report.throughput->high)));
  }
  if (report.step_ms.has_value()) {
    tiles += html::Tile(words::Number(report.step_ms->p50) + " ms", "step time, median");
    tiles += html::Tile(words::Number(report.step_ms->p99) + " ms", "step time, 99th percentile");
  }
  const auto& stall = report.breakdown[attribution::At(attribution::Category::kInputStall)];
  if (stall.has_value())
    tiles += html::Tile(words::Percent(stall->fraction), "of step time stalled");
  if (!report.findings.empty() && report.findings[0].recommendation &&
      report.findings[0].recommendation->gain) {
    const findings::Recommendation& best = *report.findings[0].recommendation;
    tiles +=
        html::Tile(fmt::format("{:.2f}x", best.measured.value_or(best.gain->predicted)),
                   best.measured.has_value() ? "best change, measured" : "best change, predicted");
  }
  return tiles.empty() ? "" : "<div class=\"tiles\">" + tiles + "</div>\n";
}

std::string Header(const Report& report) {
  std::string text =
      fmt::format("<header>\n<span class=\"trust{}\">{}</span>\n<h1>{}</h1>\n",
                  report.trust.complete ? "" : " lost", EscapeMarkup(report.trust.line),
                  EscapeMarkup(report.verdict.text));
  std::string run = report.name.empty() ? report.trace : report.name + ", " + report.trace;
  const std::string device = DevicePhrase(report);
  run += ": " + WindowPhrase(report) + (device.empty() ? "" : ", on " + device);
  text += "<p class=\"faint\">" + EscapeMarkup(run) + "</p>\n";
  std::string doubts;
  for (const std::string& doubt : report.verdict.doubts) {
    doubts += (doubts.empty() ? ": " : "; ") + doubt;
  }
  if (report.verdict.bound != findings::Bound::kInconclusive) {
    text += fmt::format("<p>Confidence {:.0f}%{}</p>\n", report.verdict.confidence * 100,
                        EscapeMarkup(doubts));
  } else if (!doubts.empty()) {
    text += "<p>No verdict" + EscapeMarkup(doubts) + "</p>\n";
  }
  return text + Tiles(report) + "</header>\n";
}

std::string BlameTable(const Report& report) {
  if (report.blame.empty()) return "";
  Rows rows{{"stage", "cause", "time", "of step time"}};
  for (const BlameRow& row : report.blame) {
    rows.push_back({row.stage, std::string(attribution::WordFor(row.cause)),
                    words::Duration(row.ns), words::Percent(row.fraction)});
  }
  return html::Table(rows, {2, 3});
}

std::string StageTable(const Report& report) {
  if (report.stages.empty()) return "";
  Rows rows{{"stage", "kind", "workers", "elements", "service ms", "busy", "capacity/s", "starved",
             "blocked", "CPU s", "queue"}};
  for (const StageRow& stage : report.stages) {
    rows.push_back(
        {stage.name, stage.kind, words::CountOrDash(stage.parallelism),
         words::Grouped(stage.elements),
         stage.service_ms ? words::Number(stage.service_ms->mean) : std::string(words::kUnknown),
         words::PercentOrDash(stage.utilization), words::NumberOrDash(stage.capacity_samples_per_s),
         words::PercentOrDash(stage.starved), words::PercentOrDash(stage.blocked),
         words::NumberOrDash(stage.cpu_s), QueuePhrase(stage.queue)});
  }
  return html::Table(rows, {2, 3, 4, 5, 6, 7, 8, 9, 10});
}

std::string MemoryTable(const Report& report) {
  const MemoryRow& memory = report.memory;
  Rows rows{{"", "at most"}};
  if (memory.peak_rss_bytes) rows.push_back({"process", words::Bytes(*memory.peak_rss_bytes)});
  if (memory.device_peak_bytes) rows.push_back({"device", words::Bytes(*memory.device_peak_bytes)});
  for (const auto& [name, bytes] : memory.stages) {
    if (bytes != 0) rows.push_back({"held by " + name, words::Bytes(bytes)});
  }
  if (rows.size() == 1) return "";
  if (memory.limit_bytes) rows.push_back({"limit", words::Bytes(*memory.limit_bytes)});
  return html::Table(rows, {1});
}

std::string Footer(const Report& report) {
  std::string text = "stallscope report of " + report.trace;
  if (!report.host.cpu.empty()) text += ", recorded on " + report.host.cpu;
  if (!report.digest.empty()) text += ", digest " + report.digest;
  return "<footer>" + EscapeMarkup(text) + "</footer>\n";
}

}  // namespace

std::string WriteHtml(const Report& report) {
  std::string body = Header(report);
  body += html::Section("Budget", html::Budget(report));
  if (report.against_base.has_value()) {
    body += html::Section(
        "Against the base: " + std::string(compare::WordFor(report.against_base->answer)),
        html::Comparison(*report.against_base));
  }
  body += html::Section("Where the step time goes", html::BreakdownBar(report));
  body += html::Section("Over time", html::Timeline(report.pictures));
  body += html::Section("What the stall waited for", BlameTable(report));
  body += html::Section("What to change", html::Findings(report));
  body += html::Section("Stages", html::StageGraph(report.stages) + StageTable(report));
  body += html::Section("Step times", html::StepHistogram(report.pictures.step_ms));
  body += html::Section("Longest waits for one element", html::List(report.stragglers));
  body += html::Section("Devices, over the whole trace", html::Devices(report));
  body += html::Section("Memory", MemoryTable(report));
  body += html::Section("Warnings", html::List(report.trust.warnings));
  body += html::Section("What this trace cannot show", html::List(report.trust.limits));
  const std::string name = report.name.empty() ? report.trace : report.name;
  return html::Page(report.verdict.text + " - " + name, body + Footer(report));
}

std::string WriteHtml(const compare::Comparison& comparison) {
  const std::string answer(compare::WordFor(comparison.answer));
  return html::Page(answer, "<header><h1>" + EscapeMarkup(answer) + "</h1></header>\n" +
                                html::Section("New against base", html::Comparison(comparison)));
}

}  // namespace stallscope::report
