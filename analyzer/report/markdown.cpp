#include "analyzer/report/markdown.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/palette.h"
#include "analyzer/report/phrases.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

constexpr size_t kShown = 5;

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string More(size_t all, const char* what) {
  return all > kShown ? fmt::format("\n…and {} more {}.\n", words::Grouped(all - kShown), what)
                      : "";
}

std::string Facts(const Report& report) {
  std::vector<std::string> facts;
  if (report.throughput.has_value()) {
    facts.push_back(
        fmt::format("**{} samples/s** ({} to {})", words::Number(report.throughput->samples_per_s),
                    words::Number(report.throughput->low), words::Number(report.throughput->high)));
  }
  if (report.step_ms.has_value()) {
    facts.push_back(fmt::format("step p50 {} ms, p95 {} ms", words::Number(report.step_ms->p50),
                                words::Number(report.step_ms->p95)));
  }
  facts.push_back(EscapeMarkdown(WindowPhrase(report)));
  const std::string device = DevicePhrase(report);
  if (!device.empty()) facts.push_back("on " + EscapeMarkdown(device));
  std::string line;
  for (const std::string& fact : facts) line += (line.empty() ? "" : ", ") + fact;
  return line + "\n";
}

std::string Breakdown(const Report& report) {
  std::string rows;
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = report.breakdown[attribution::At(category)];
    if (!total.has_value() || total->ns == 0) continue;
    const double share = std::clamp(total->fraction, 0.0, 1.0);
    std::string bar;
    for (int i = 0; i < static_cast<int>(share * 20 + 0.5); ++i) bar += "█";
    rows += Row({std::string(LookOf(category).word), words::Percent(total->fraction),
                 fmt::format("{:.1f} to {:.1f}", total->low * 100, total->high * 100), bar});
  }
  if (rows.empty()) return "";
  return "\n| step time | share | 95% | |\n|---|--:|--:|---|\n" + rows;
}

std::string Blame(const Report& report) {
  if (report.blame.empty()) return "";
  std::string text = "\n| the stall waited for | cause | share |\n|---|---|--:|\n";
  for (size_t i = 0; i < std::min(report.blame.size(), kShown); ++i) {
    const BlameRow& row = report.blame[i];
    text += Row({MarkdownCode(row.stage), EscapeMarkdown(attribution::WordFor(row.cause)),
                 words::Percent(row.fraction)});
  }
  return text + More(report.blame.size(), "rows");
}

std::string Finding(const FindingRow& finding) {
  const std::string place = PlacePhrase(finding);
  std::string text = fmt::format(
      "\n**{}** ({}{}): {}\n", EscapeMarkdown(finding.id), findings::WordFor(finding.severity),
      place.empty() ? "" : ", " + EscapeMarkdown(place), EscapeMarkdown(finding.text));
  if (!finding.recommendation.has_value()) return text;
  const findings::Recommendation& recommendation = *finding.recommendation;
  text += "\n→ " + EscapeMarkdown(recommendation.text);
  const std::string gain = GainPhrase(recommendation);
  if (recommendation.gain) {
    text += ": **" + EscapeMarkdown(gain) + "**";
  } else if (!gain.empty()) {
    text += ": no gain known, " + EscapeMarkdown(gain);
  }
  const std::string memory = MemoryPhrase(recommendation);
  if (!memory.empty()) text += ", " + memory;
  text += "\n";
  std::string details;
  std::string patch;
  for (const std::string& line : PatchLines(recommendation.patch)) {
    patch += (patch.empty() ? "" : ",\n ") + line;
  }
  if (!patch.empty()) details += "\n" + MarkdownBlock("json", "[" + patch + "]");
  for (const auto& [name, code] : CodeOf(recommendation)) {
    details += "\n" + std::string(name) + ":\n\n" + MarkdownBlock("python", code);
  }
  if (details.empty()) return text;
  return text + "\n<details><summary>patch and code</summary>\n" + details + "\n</details>\n";
}

std::string Findings(const Report& report) {
  if (report.findings.empty()) return "";
  std::string text = "\n### What to change\n";
  for (size_t i = 0; i < std::min(report.findings.size(), kShown); ++i) {
    text += Finding(report.findings[i]);
  }
  return text + More(report.findings.size(), "findings");
}

std::string Budget(const std::vector<CheckRow>& checks) {
  std::string text =
      "\n### Budget: " + BudgetPhrase(checks) + "\n\n| | metric | |\n|---|---|---|\n";
  for (const CheckRow& check : checks) {
    std::string outcome(WordFor(check.outcome));
    if (check.outcome != Outcome::kPass) outcome = "**" + outcome + "**";
    if (check.level == CheckLevel::kWarn) outcome += " (warn)";
    text += Row({outcome, MarkdownCode(check.metric), EscapeMarkdown(check.text)});
  }
  return text;
}

std::string Limits(const Report& report) {
  std::string list;
  for (const std::string& warning : report.trust.warnings) {
    list += "- warning: " + EscapeMarkdown(warning) + "\n";
  }
  for (const std::string& limit : report.trust.limits) list += "- " + EscapeMarkdown(limit) + "\n";
  if (list.empty()) return "";
  return "\n<details><summary>what this trace cannot show</summary>\n\n" + list + "\n</details>\n";
}

void AddChange(std::string& rows, const std::string& name,
               const std::optional<compare::Change>& change) {
  if (!change.has_value() || (change->base == 0 && change->now == 0)) return;
  rows += Row({name, words::Number(change->base), words::Number(change->now),
               EscapeMarkdown(ChangePhrase(*change))});
}

// What follows the heading.
std::string ComparisonBody(const compare::Comparison& comparison) {
  std::string text = EscapeMarkdown(comparison.text) + "\n";
  for (const std::string& warning : comparison.warnings) {
    text += "\n> warning: " + EscapeMarkdown(warning) + "\n";
  }
  std::string rows;
  AddChange(rows, "samples/s", comparison.throughput);
  AddChange(rows, "step mean, ms", comparison.step_mean_ms);
  AddChange(rows, "step p95, ms", comparison.step_p95_ms);
  for (const attribution::Category category : attribution::kReportOrder) {
    AddChange(rows, std::string(LookOf(category).word) + ", ms a step",
              comparison.ms_per_step[attribution::At(category)]);
  }
  for (const compare::StageChange& stage : comparison.stages) {
    AddChange(rows, MarkdownCode(stage.name) + ", service ms", stage.service_ms);
  }
  if (!rows.empty()) text += "\n| | base | new | change |\n|---|--:|--:|---|\n" + rows;
  if (comparison.spec_change && !comparison.spec_change->changes.empty()) {
    text += "\nWhat the new spec changes:\n\n" +
            MarkdownBlock("json", WritePatch(*comparison.spec_change));
  }
  if (!comparison.same_data) text += "\nThe two sides delivered different data.\n";
  return text;
}

}  // namespace

std::string WriteMarkdown(const Report& report) {
  std::string text = "## " + EscapeMarkdown(report.verdict.text) + "\n\n";
  std::string trust = EscapeMarkdown(report.trust.line);
  text += (report.trust.complete ? trust : "**" + trust + "**") + "\n\n" + Facts(report);
  if (report.budget.has_value()) text += Budget(*report.budget);
  if (report.against_base.has_value()) {
    text +=
        "\n### Against the base: " + std::string(compare::WordFor(report.against_base->answer)) +
        "\n\n" + ComparisonBody(*report.against_base);
  }
  return text + Breakdown(report) + Blame(report) + Findings(report) + Limits(report);
}

std::string WriteMarkdown(const compare::Comparison& comparison) {
  return "## " + std::string(compare::WordFor(comparison.answer)) + "\n\n" +
         ComparisonBody(comparison);
}

}  // namespace stallscope::report
