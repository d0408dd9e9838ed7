#include "gui/viewmodel/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gui/viewmodel/format.h"

namespace stallscope::viewmodel {
namespace {

// The reader says "spec, line 3, column 7": both numbers, or zeros.
int NumberAfter(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  if (at == std::string::npos) return 0;
  int number = 0;
  const char* const from = text.data() + at + word.size();
  std::from_chars(from, text.data() + text.size(), number);
  return number;
}

}  // namespace

RecordModel BuildRecord(const session::State& state) {
  const session::RecordState& record = state.record;
  RecordModel model;
  model.valid = !record.problem.has_value();
  if (record.problem.has_value()) {
    model.problem = record.problem->Line();
    model.problem_line = NumberAfter(record.problem->where, "line ");
    model.problem_column = NumberAfter(record.problem->where, "column ");
  }
  for (const KnobInfo& knob : record.knobs) {
    if (knob.path == "trainer.device") {
      model.devices = knob.words;
      model.device = knob.value;
    }
    model.knobs.push_back({knob.path, knob.value, knob.value != knob.default_value, knob.words,
                           knob.type == KnobType::kBoolean, knob.doc});
  }
  model.output = record.output;
  model.running = record.running;
  model.stopping = record.stopping;
  model.can_start = model.valid && !record.running && !state.sweep.running && !state.verify.running;
  if (record.steps > 0 || record.running) {
    model.progress = "step " + Grouped(record.steps);
    if (record.most_steps > 0) {
      model.progress += " of " + Grouped(record.most_steps);
      model.done =
          std::min(static_cast<double>(record.steps) / static_cast<double>(record.most_steps), 1.0);
    }
    model.throughput = Rate(record.samples_per_s);
    model.stall = Percent(record.input_stall) + " of the time waiting for input";
  }
  for (const double rate : record.rates) model.rate_max = std::max(model.rate_max, rate);
  for (const double rate : record.rates) {
    model.rates.push_back(model.rate_max > 0 ? static_cast<float>(rate / model.rate_max) : 0.F);
  }
  for (const session::QueueGauge& gauge : record.queues) {
    const double fill = gauge.capacity > 0
                            ? static_cast<double>(gauge.depth) / static_cast<double>(gauge.capacity)
                            : 0;
    model.queues.push_back(
        {gauge.name, std::min(fill, 1.0), fmt::format("{} of {}", gauge.depth, gauge.capacity)});
  }
  if (record.error.has_value()) model.error = record.error->Line();
  model.has_result = record.recorded != session::kNoRun;
  return model;
}

}  // namespace stallscope::viewmodel
