#include <fmt/core.h>

#include <array>

#include "analyzer/base/escape.h"
#include "analyzer/report/html_parts.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/palette.h"
#include "analyzer/report/phrases.h"
#include "analyzer/words/words.h"

namespace stallscope::report::html {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string Paragraph(const std::string& text, const char* kind = "") {
  return fmt::format("<p{}>{}</p>\n", kind, EscapeMarkup(text));
}

std::string Block(const std::string& title, std::string_view code) {
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", EscapeMarkup(title),
                     EscapeMarkupLines(code));
}

std::string Advice(const findings::Recommendation& recommendation) {
  std::string text = "<div class=\"advice\">" + Paragraph(recommendation.text);
  const std::string gain = GainPhrase(recommendation);
  const std::string memory = MemoryPhrase(recommendation);
  if (recommendation.gain) {
    text += "<p><span class=\"gain\">" + EscapeMarkup(gain) + "</span>" +
            (memory.empty() ? "" : ", " + EscapeMarkup(memory)) + "</p>\n";
  } else {
    if (!gain.empty()) text += Paragraph("No gain known: " + gain, " class=\"faint\"");
    if (!memory.empty()) text += Paragraph("Memory: " + memory);
  }
  text += "<div class=\"tabs\">";
  if (!recommendation.patch.changes.empty()) {
    text += Block("patch", WritePatch(recommendation.patch));
  }
  for (const auto& [name, code] : CodeOf(recommendation)) text += Block(std::string(name), code);
  return text + "</div></div>\n";
}

void AddChange(Rows& rows, const std::string& name, const std::optional<compare::Change>& change) {
  if (!change.has_value() || (change->base == 0 && change->now == 0)) return;
  rows.push_back(
      {name, words::Number(change->base), words::Number(change->now), ChangePhrase(*change)});
}

}  // namespace

std::string Findings(const Report& report) {
  if (report.findings.empty()) return "<p>No finding.</p>\n";
  std::string text;
  for (const FindingRow& finding : report.findings) {
    const std::string_view severity = findings::WordFor(finding.severity);
    const std::string place = PlacePhrase(finding);
    text += fmt::format("<div class=\"finding\"><h3><span class=\"tag {}\">{}</span>{}", severity,
                        severity, EscapeMarkup(finding.id));
    if (!place.empty()) text += " <span class=\"faint\">" + EscapeMarkup(place) + "</span>";
    text += "</h3>\n" + Paragraph(finding.text);
    std::string evidence;
    for (const EvidenceRow& row : finding.evidence) {
      if (!row.text.empty()) evidence += "<li>" + EscapeMarkup(row.text) + "</li>";
    }
    if (!evidence.empty()) text += "<ul class=\"faint\">" + evidence + "</ul>\n";
    if (finding.recommendation) text += Advice(*finding.recommendation);
    text += "</div>\n";
  }
  return text;
}

std::string Devices(const Report& report) {
  if (report.devices.empty()) return "";
  constexpr std::array<const char*, 3> kDirections = {"copies h2d", "copies d2h", "copies d2d"};
  constexpr std::array<const char*, 3> kMemory = {"", ", pinned", ", pageable"};
  Rows rows{{"device", "", "count", "time", "bytes"}};
  for (const attribution::DeviceUse& device : report.devices) {
    rows.push_back({fmt::format("{}: {}", device.device, device.name), "busy", "",
                    words::Duration(device.busy_ns), ""});
    rows.push_back(
        {"", "kernels", words::Grouped(device.kernels), words::Duration(device.kernel_ns), ""});
    for (const attribution::CopyUse& copy : device.copies) {
      rows.push_back({"",
                      std::string(kDirections[static_cast<size_t>(copy.direction)]) +
                          kMemory[static_cast<size_t>(copy.memory)],
                      words::Grouped(copy.count), words::Duration(copy.ns),
                      copy.bytes == 0 ? "" : words::Bytes(copy.bytes)});
    }
  }
  std::string text = Table(rows, {2, 3, 4});
  Rows kernels{{"kernel", "count", "time", "share"}};
  for (const KernelRow& kernel : report.kernels) {
    if (kernels.size() > 15) break;
    kernels.push_back({kernel.name, words::Grouped(kernel.count), words::Duration(kernel.ns),
                       words::Percent(kernel.fraction)});
  }
  if (kernels.size() > 1) text += Table(kernels, {1, 2, 3});
  if (report.arithmetic.has_value()) text += Paragraph(ArithmeticPhrase(report));
  const attribution::DeviceIdle& idle = report.idle;
  if (idle.ns > 0) {
    text += Table({{"the device was idle", "time"},
                   {"for input", words::Duration(idle.input_ns)},
                   {"for launches", words::Duration(idle.launch_ns)},
                   {"while the host waited for it", words::Duration(idle.sync_ns)},
                   {"for other reasons", words::Duration(idle.other_ns)},
                   {"in all", words::Duration(idle.ns)}},
                  {1});
  }
  return text;
}

std::string Budget(const Report& report) {
  if (!report.budget.has_value()) return "";
  std::string text = Paragraph(BudgetPhrase(*report.budget));
  for (const CheckRow& check : *report.budget) {
    const std::string_view outcome = WordFor(check.outcome);
    text +=
        fmt::format("<p><span class=\"tag {}\">{}{}</span>{}</p>\n", outcome, outcome,
                    check.level == CheckLevel::kWarn ? " (warn)" : "", EscapeMarkup(check.text));
  }
  return text;
}

std::string Comparison(const compare::Comparison& comparison) {
  std::string text = Paragraph(comparison.text);
  for (const std::string& warning : comparison.warnings) {
    text += Paragraph("Warning: " + warning, " class=\"faint\"");
  }
  Rows rows{{"", "base", "new", "change"}};
  AddChange(rows, "samples/s", comparison.throughput);
  AddChange(rows, "step mean, ms", comparison.step_mean_ms);
  AddChange(rows, "step p50, ms", comparison.step_p50_ms);
  AddChange(rows, "step p95, ms", comparison.step_p95_ms);
  AddChange(rows, "step p99, ms", comparison.step_p99_ms);
  for (const attribution::Category category : attribution::kReportOrder) {
    AddChange(rows, std::string(LookOf(category).word) + ", ms a step",
              comparison.ms_per_step[attribution::At(category)]);
  }
  for (const compare::StageChange& stage : comparison.stages) {
    AddChange(rows, stage.name + ", service ms", stage.service_ms);
    AddChange(rows, stage.name + ", busy ms a step", stage.busy_ms_per_step);
  }
  if (rows.size() > 1) text += Table(rows, {1, 2});
  if (comparison.spec_change && !comparison.spec_change->changes.empty()) {
    text += Block("what the new spec changes", WritePatch(*comparison.spec_change));
  }
  if (!comparison.same_data) text += Paragraph("The two sides delivered different data.");
  return text;
}

}  // namespace stallscope::report::html
