#include "analyzer/report/phrases.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/report/layout.h"
#include "analyzer/words/words.h"

namespace stallscope::report {

std::string QueuePhrase(const std::optional<QueueRow>& queue) {
  if (!queue.has_value()) return std::string(words::kUnknown);
  const std::string mean = words::NumberOrDash(queue->mean);
  return queue->capacity.has_value() ? mean + " of " + words::Grouped(*queue->capacity) : mean;
}

std::string WindowPhrase(const Report& report) {
  const std::string length = words::Duration(report.window_end_ns - report.window_start_ns);
  if (report.steps == 0) return "no steps, " + length;
  std::string text = fmt::format("{} step{} in {}", words::Grouped(report.steps),
                                 report.steps == 1 ? "" : "s", length);
  if (report.warmup_steps != 0) {
    text += fmt::format(", after {} of warm-up", words::Grouped(report.warmup_steps));
  }
  return text;
}

std::string DevicePhrase(const Report& report) {
  const trace::DeviceInfo& device = report.device;
  if (device.name.empty()) return device.kind;
  return device.kind.empty() ? device.name : device.name + " (" + device.kind + ")";
}

std::string ArithmeticPhrase(const Report& report) {
  if (!report.arithmetic.has_value()) return "";
  const attribution::Arithmetic& arithmetic = *report.arithmetic;
  std::string text = fmt::format("computed {} a step: {}/s, {}/s while a device computes",
                                 words::Flops(static_cast<double>(arithmetic.flops_per_step)),
                                 words::Flops(arithmetic.flops_per_s),
                                 words::Flops(arithmetic.flops_per_s_computing));
  if (arithmetic.fraction_of_peak.has_value()) {
    text += ", " + words::Percent(*arithmetic.fraction_of_peak) + " of the peak";
  }
  return text;
}

std::string GainPhrase(const findings::Recommendation& recommendation) {
  const std::optional<double>& measured = recommendation.measured;
  if (!recommendation.gain.has_value()) {
    return measured ? fmt::format("measured {:.2f}x", *measured) : recommendation.unpriced;
  }
  const findings::Gain& gain = *recommendation.gain;
  std::string text = fmt::format("{:.2f}x ({:.2f} to {:.2f})", gain.predicted, gain.low, gain.high);
  if (measured.has_value()) text += fmt::format(", measured {:.2f}x", *measured);
  return text;
}

std::string MemoryPhrase(const findings::Recommendation& recommendation) {
  const int64_t bytes = recommendation.memory_bytes.value_or(0);
  if (bytes == 0) return "";
  const uint64_t size =
      bytes > 0 ? static_cast<uint64_t>(bytes) : ~static_cast<uint64_t>(bytes) + 1;
  return (bytes > 0 ? "costs " : "frees ") + words::Bytes(size);
}

std::string PlacePhrase(const FindingRow& finding) {
  std::string text;
  if (!finding.stage.empty()) text = "in " + finding.stage;
  if (finding.share > 0) {
    text += (text.empty() ? "" : ", ") + words::Percent(finding.share) + " of step time";
  }
  return text;
}

std::vector<std::string> PatchLines(const Patch& patch) {
  std::vector<std::string> lines;
  for (const auto& change : patch.changes) {
    Patch one;
    one.changes.push_back(change);
    std::string line = WritePatch(one, JsonLayout::kOneLine);
    // The list's brackets.
    lines.push_back(line.size() > 2 ? line.substr(1, line.size() - 2) : line);
  }
  return lines;
}

std::vector<std::pair<std::string_view, std::string_view>> CodeOf(
    const findings::Recommendation& recommendation) {
  const findings::Code& code = recommendation.code;
  std::vector<std::pair<std::string_view, std::string_view>> all = {{"tf.data", code.tf_data},
                                                                    {"pytorch", code.pytorch},
                                                                    {"dali", code.dali},
                                                                    {"grain", code.grain}};
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
  return all;
}

std::string ChangePhrase(const compare::Change& change) {
  if (!change.HasRatio() || !std::isfinite(change.ratio)) return "new";
  const double more = change.ratio - 1;
  std::string text = words::Percent(std::fabs(more)) + (more < 0 ? " less" : " more");
  if (std::fabs(more) < 0.0005) text = "the same";
  if (change.bounded) {
    text += fmt::format(" ({:+.1f} to {:+.1f}%)", (change.low - 1) * 100, (change.high - 1) * 100);
  }
  return text;
}

BudgetCounts CountChecks(const std::vector<CheckRow>& checks) {
  BudgetCounts counts;
  for (const CheckRow& check : checks) {
    const bool error = check.level == CheckLevel::kError;
    if (check.outcome == Outcome::kFail) ++(error ? counts.errors : counts.warnings);
    if (check.outcome == Outcome::kInconclusive && error) ++counts.inconclusive;
  }
  return counts;
}

std::string BudgetPhrase(const std::vector<CheckRow>& checks) {
  const auto held = std::count_if(checks.begin(), checks.end(), [](const CheckRow& check) {
    return check.outcome == Outcome::kPass;
  });
  const BudgetCounts counts = CountChecks(checks);
  std::string text = fmt::format("{} of {} checks held", held, checks.size());
  if (counts.errors != 0) text += fmt::format(", {} failed", counts.errors);
  if (counts.warnings != 0) text += fmt::format(", {} warned", counts.warnings);
  if (counts.inconclusive != 0) text += fmt::format(", {} inconclusive", counts.inconclusive);
  return text;
}

}  // namespace stallscope::report
