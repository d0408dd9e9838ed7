// Row 24: the first step takes as long as many others.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::warm_up {
namespace {

// How often a function was compiled in this step, by what the trace counts.
size_t CompiledIn(const Case& c, const model::StepInterval& step) {
  for (const trace::CounterInfo& counter : c.run.counters) {
    if (counter.name != "compilations") continue;
    const auto& samples = c.run.rows.samples;
    return static_cast<size_t>(
        std::count_if(samples.begin(), samples.end(), [&](const trace::Sample& sample) {
          return sample.counter == counter.id && sample.time_ns >= step.start_ns &&
                 sample.time_ns < step.end_ns;
        }));
  }
  return 0;
}

// Evaluation, or a checkpoint, within the step.
struct Beside {
  std::string name;
  int64_t ns = 0;
};
Beside BesideIn(const Case& c, const model::StepInterval& step) {
  Beside all;
  for (const model::Track& track : c.run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = c.run.ClassOf(track, i);
      if (what.activity != trace::SpanActivity::kEvaluation) continue;
      const int64_t ns = std::min(track.spans.EndNs(i), step.end_ns) -
                         std::max(track.spans.start_ns[i], step.start_ns);
      if (ns <= 0) continue;
      all.ns += ns;
      all.name = c.run.Text(what.name);
    }
  }
  return all;
}

std::string WhatTakesIt(const Case& c, const model::StepInterval& step, size_t compiled) {
  const Beside beside = BesideIn(c, step);
  if (2 * beside.ns > step.end_ns - step.start_ns) {
    return fmt::format("{} takes {} of it", beside.name, Duration(static_cast<double>(beside.ns)));
  }
  if (compiled > 0) return Counted(compiled, "compilation") + " in it";
  return "compilation, empty buffers and cold caches";
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const double median = MedianStepNs(c);
  const std::vector<model::StepInterval> steps = model::StepIntervals(c.run);
  // A warm-up is outside the window, where it belongs; what counts is its length.
  if (median <= 0 || steps.size() < 2) return;
  const auto first = static_cast<double>(steps.front().end_ns - steps.front().start_ns);
  if (first < kWarmUpSteps * median) return;
  const size_t compiled = CompiledIn(c, steps.front());
  Draft draft =
      About(c, StageId::None(), 0,
            fmt::format("the first step took {}, as long as {:.0f} others: {}", Duration(first),
                        first / median, WhatTakesIt(c, steps.front(), compiled)));
  draft.finding.severity = Severity::kInfo;
  Show(draft, Evidence::Kind::kStep, fmt::format("step {}", steps.front().index));
  draft.finding.evidence.back().step = steps.front().index;
  draft.finding.evidence.back().start_ns = steps.front().start_ns;
  draft.finding.evidence.back().end_ns = steps.front().end_ns;
  if (compiled > 0) {
    RecommendUnpriced(
        draft, "compile the step before the first one, once for every shape", Patch(),
        "every run pays for it once, so what it gains depends on how long the run is");
  }
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "warm-up",
    .row = 24,
    .check = Check,
    .advice = {
        .tf_data =
            R"py(@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def train_step(images, labels): ...
train_step.get_concrete_function()  # traced before the first step)py",
        .pytorch =
            R"py(model = torch.compile(model, dynamic=True)  # and call it once before the first step)py",
        .grain =
            R"py(train_step = jax.jit(train_step).lower(state, images, labels).compile()  # before the first step)py",
    }};

}  // namespace stallscope::findings::warm_up
