#include "gui/viewmodel/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "gui/viewmodel/format.h"
#include "gui/viewmodel/sweep_plots.h"

namespace stallscope::viewmodel {
namespace {

// Values worth trying: what there is, and doubled and halved.
std::string Suggestion(const KnobInfo& knob) {
  std::vector<std::string> values;
  if (knob.type == KnobType::kBoolean) {
    values = {"false", "true"};
  } else if (knob.type == KnobType::kWord) {
    values = knob.words;
  } else if (knob.type == KnobType::kInteger && knob.range.has_value()) {
    int64_t now = 1;
    std::from_chars(knob.value.data(), knob.value.data() + knob.value.size(), now);
    for (const int64_t value : {now / 2, now, now * 2, now * 4}) {
      const bool fits = static_cast<double>(value) >= knob.range->min &&
                        static_cast<double>(value) <= knob.range->max;
      const std::string text = std::to_string(value);
      if (fits && std::find(values.begin(), values.end(), text) == values.end()) {
        values.push_back(text);
      }
    }
  }
  if (values.size() < 2) return {};
  std::string line = knob.path + "=";
  for (size_t i = 0; i < values.size(); ++i) line += (i > 0 ? "," : "") + values[i];
  return line;
}

void AddKnobs(const model::Run& run, SweepModel& model) {
  const auto spec = ReadSpec(run.info.spec_json, run.path);
  if (!spec.ok()) {
    model.nothing =
        "the trace has no spec whose knobs could be varied; lines that are typed are "
        "tried against what its stages tell";
    return;
  }
  for (const KnobInfo& knob : ListKnobs(spec.value())) {
    const std::string suggestion = Suggestion(knob);
    if (suggestion.empty() || knob.path == "seed" || knob.path == "trainer.steps") continue;
    model.knobs.push_back({knob.path, knob.value, suggestion, knob.doc});
  }
}

TableCell RateCell(const std::optional<report::SweepRate>& rate, double most) {
  if (!rate.has_value()) return {"-", {}, ""};
  return {Rate(rate->samples_per_s),
          most > 0 ? std::optional(rate->samples_per_s / most) : std::nullopt,
          Rate(rate->low) + " to " + Rate(rate->high)};
}

void AddTable(const report::SweepTable& sweep, SweepModel& model) {
  double most = 0;
  for (const report::SweepRow& row : sweep.rows) {
    if (row.predicted) most = std::max(most, row.predicted->samples_per_s);
    if (row.measured) most = std::max(most, row.measured->samples_per_s);
  }
  model.table.columns = {{"configuration", false}, {"predicted", true}, {"measured", true},
                         {"memory", true},         {"verdict", false},  {"note", false}};
  for (size_t r = 0; r < sweep.rows.size(); ++r) {
    const report::SweepRow& row = sweep.rows[r];
    model.table.rows.push_back({{row.name + (r == sweep.base ? " (base)" : ""), {}, ""},
                                RateCell(row.predicted, most),
                                RateCell(row.measured, most),
                                {row.memory_bytes ? BytesText(*row.memory_bytes) : "-", {}, ""},
                                {row.verdict, {}, ""},
                                {row.note, {}, ""}});
  }
}

std::string AccuracyText(const report::SweepAccuracy& accuracy) {
  if (accuracy.points == 0 || !accuracy.median.has_value()) return {};
  std::string text =
      fmt::format("{} points, median error {}", accuracy.points, Percent(*accuracy.median));
  if (accuracy.covered.has_value()) {
    text += ", " + Percent(*accuracy.covered) + " within the interval";
  }
  return text;
}

}  // namespace

SweepModel BuildSweep(const session::State& state) {
  SweepModel model;
  const session::SweepState& sweep = state.sweep;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->run == nullptr) {
    model.nothing = "open a run, whose knobs can then be varied";
  } else {
    AddKnobs(*open->run, model);
  }
  model.running = sweep.running;
  model.can_start = sweep.points > 0 && !sweep.running && !state.verify.running &&
                    !state.record.running && open != nullptr && open->whole.report != nullptr;
  if (sweep.points > 0) {
    model.points_text = Grouped(sweep.points) + (sweep.points == 1 ? " point" : " points");
    if (sweep.mode != session::SweepRunMode::kSimulate) {
      model.points_text += ", " + Grouped(sweep.points * sweep.repeats) + " runs";
    }
  }
  if (sweep.running) {
    model.done =
        sweep.total > 0 ? static_cast<double>(sweep.done) / static_cast<double>(sweep.total) : 0;
    model.progress = sweep.doing.empty()
                         ? std::string("starting")
                         : sweep.doing + ": " + Grouped(sweep.done) + " of " + Grouped(sweep.total);
  }
  if (sweep.error.has_value()) model.error = sweep.error->Line();
  if (sweep.table == nullptr) return model;
  const report::SweepTable& table = *sweep.table;
  model.emulated = table.emulated;
  model.heat = HeatOf(table);
  model.lines = LinesOf(table);
  model.pareto = ParetoOf(table);
  model.accuracy = AccuracyOf(table);
  model.accuracy_text = AccuracyText(table.accuracy);
  model.warnings = table.warnings;
  AddTable(table, model);
  return model;
}

}  // namespace stallscope::viewmodel
