#include <fmt/core.h>

#include "analyzer/report/layout.h"
#include "analyzer/report/palette.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/text_sections.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void AddChange(Rows& rows, const std::string& name, const std::optional<compare::Change>& change) {
  if (!change.has_value()) return;
  rows.push_back(
      {name, words::Number(change->base), words::Number(change->now), ChangePhrase(*change)});
}

}  // namespace

std::string WriteText(const compare::Comparison& comparison, const TextOptions& options) {
  const bool colors = options.colors;
  const bool bad = comparison.answer == compare::Answer::kSlower ||
                   comparison.answer == compare::Answer::kInconclusive;
  std::string text = Painted(Lines(std::string(compare::WordFor(comparison.answer)), 0, 2),
                             bad ? Tone::kBad : Tone::kGood, colors);
  text += Lines(comparison.text, 2, 4);
  for (const std::string& warning : comparison.warnings) text += Lines("warning: " + warning, 2, 4);
  Rows rows{{"", "base", "new", "change"}};
  AddChange(rows, "samples/s", comparison.throughput);
  AddChange(rows, "step mean ms", comparison.step_mean_ms);
  AddChange(rows, "step p50 ms", comparison.step_p50_ms);
  AddChange(rows, "step p95 ms", comparison.step_p95_ms);
  AddChange(rows, "step p99 ms", comparison.step_p99_ms);
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& change = comparison.ms_per_step[attribution::At(category)];
    if (change && (change->base != 0 || change->now != 0)) {
      AddChange(rows, std::string(LookOf(category).word) + " ms a step", change);
    }
  }
  if (rows.size() > 1) text += "\n" + Table(rows, {1, 2});
  Rows stages{{"stage", "base", "new", "change"}};
  for (const compare::StageChange& stage : comparison.stages) {
    AddChange(stages, stage.name + ", service ms", stage.service_ms);
    AddChange(stages, stage.name + ", busy ms a step", stage.busy_ms_per_step);
    AddChange(stages, stage.name + ", capacity/s", stage.capacity_samples_per_s);
  }
  if (stages.size() > 1) text += Heading("Stages", colors) + Table(stages, {1, 2});
  if (comparison.spec_change.has_value()) {
    text += Heading("What the new spec changes", colors);
    const auto lines = PatchLines(*comparison.spec_change);
    for (const std::string& line : lines) text += Lines(line, 2, 4);
    if (lines.empty()) text += "  nothing\n";
  }
  if (!comparison.same_data) text += "\n  the two sides delivered different data\n";
  return text;
}

}  // namespace stallscope::report
