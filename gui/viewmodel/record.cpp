#include "gui/viewmodel/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyzer/words/words.h"

namespace stallscope::viewmodel {
namespace {

// For invalid JSON the reader gives "spec:3:7", otherwise a path in the spec.
struct TextPlace {
  int line = 0;
  int column = 0;
};

TextPlace PlaceIn(const std::string& where) {
  TextPlace place;
  const size_t column = where.rfind(':');
  if (column == std::string::npos || column == 0) return place;
  const size_t line = where.rfind(':', column - 1);
  if (line == std::string::npos) return place;
  const auto read = [&](size_t from, size_t to, int& number) {
    const auto [rest, failed] = std::from_chars(where.data() + from, where.data() + to, number);
    return failed == std::errc() && rest == where.data() + to;
  };
  const bool both =
      read(line + 1, column, place.line) && read(column + 1, where.size(), place.column);
  return both ? place : TextPlace{};
}

}  // namespace

RecordModel BuildRecord(const session::State& state) {
  const session::RecordState& record = state.record;
  RecordModel model;
  model.valid = !record.problem.has_value();
  if (record.problem.has_value()) {
    Error problem = *record.problem;
    const TextPlace place = PlaceIn(problem.where);
    model.problem_line = place.line;
    model.problem_column = place.column;
    if (place.line > 0) problem.where.clear();  // shown as line and column
    model.problem = problem.Line();
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
    model.progress = "step " + words::Grouped(record.steps);
    if (record.most_steps > 0) {
      model.progress += " of " + words::Grouped(record.most_steps);
      model.done =
          std::min(static_cast<double>(record.steps) / static_cast<double>(record.most_steps), 1.0);
    }
    model.throughput = words::Rate(record.samples_per_s);
    model.stall = words::Percent(record.input_stall) + " of the time waiting for input";
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
