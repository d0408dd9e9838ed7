#include "analyzer/importers/foreign/beside_steps.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers {
namespace {

constexpr std::string_view kEvaluation = "evaluation";
constexpr std::string_view kCheckpoint = "checkpoint";

struct Named {
  std::string_view name;
  std::string_view label;
};
// Whole names: annotations of a user's own, and the functions of Keras.
constexpr std::array kNames = {
    Named{"evaluation", kEvaluation},
    Named{"evaluate", kEvaluation},
    Named{"eval", kEvaluation},
    Named{"validation", kEvaluation},
    Named{"validate", kEvaluation},
    Named{"test_function", kEvaluation},
    Named{"test_step", kEvaluation},
    Named{"checkpoint", kCheckpoint},
    Named{"save_checkpoint", kCheckpoint},
};
// Within a Lightning profile's "[pl][profile]...".
constexpr std::array kOfLightning = {
    Named{"save_checkpoint", kCheckpoint},
    Named{"validation", kEvaluation},
    Named{"_EvaluationLoop", kEvaluation},
    Named{"test_step", kEvaluation},
};
// Python functions, with the file that a profiler names.
struct NamedFunction {
  std::string_view file;
  std::string_view name;
  std::string_view label;
};
constexpr std::array kFunctions = {
    NamedFunction{"transformers/trainer.py", "evaluation_loop", kEvaluation},
    NamedFunction{"transformers/trainer.py", "evaluate", kEvaluation},
    NamedFunction{"transformers/trainer.py", "_save_checkpoint", kCheckpoint},
    NamedFunction{"torch/serialization.py", "save", kCheckpoint},
    NamedFunction{"keras/engine/training.py", "evaluate", kEvaluation},
    NamedFunction{"$training.py", "evaluate", kEvaluation},
    NamedFunction{"$trainer.py", "evaluate", kEvaluation},
};

// Kineto writes "transformers/trainer.py(3035): evaluate", TensorFlow "$trainer.py:431 evaluate".
std::string_view LabelOfFunction(std::string_view name) {
  const size_t blank = name.rfind(' ');
  const size_t file_end = name.find(".py");
  if (blank == std::string_view::npos || file_end == std::string_view::npos) return {};
  const std::string_view file = name.substr(0, file_end + 3);
  for (const NamedFunction& known : kFunctions) {
    const bool same_file =
        known.file.starts_with('$') ? file == known.file : file.ends_with(known.file);
    if (same_file && name.substr(blank + 1) == known.name) return known.label;
  }
  return {};
}

struct Beside {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view label;
};

// By class of span; empty for others.
std::vector<std::string_view> LabelsOf(const model::Run& run) {
  const auto is_annotation = [&](const trace::SpanClass& what, std::string_view name) {
    return what.activity == trace::SpanActivity::kAnnotation && run.Text(what.name) == name;
  };
  const bool of_keras =
      std::any_of(run.span_classes.begin(), run.span_classes.end(),
                  [&](const trace::SpanClass& what) { return is_annotation(what, kKerasTrain); });
  std::vector<std::string_view> labels;
  for (const trace::SpanClass& what : run.span_classes) {
    const bool has_name = what.activity == trace::SpanActivity::kAnnotation ||
                          what.activity == trace::SpanActivity::kFunction ||
                          what.activity == trace::SpanActivity::kOperator;
    std::string_view label = has_name ? BesideLabel(run.Text(what.name)) : std::string_view();
    if (of_keras && is_annotation(what, kKerasTest)) label = kEvaluation;
    labels.push_back(label);
  }
  return labels;
}

// The outermost ones, the last one first.
std::vector<Beside> BesideOn(const trace::SpanColumns& spans,
                             const std::vector<std::string_view>& labels) {
  std::vector<Beside> found;
  for (size_t i = spans.size(); i-- > 0;) {
    const std::string_view label = labels[spans.span_class[i]];
    const bool inside = !found.empty() && spans.start_ns[i] >= found.back().start_ns;
    if (!label.empty() && !inside) found.push_back({spans.start_ns[i], spans.EndNs(i), label});
  }
  return found;
}

// `beside`: the last one first.
trace::SpanColumns Outside(const trace::SpanColumns& spans, const std::vector<Beside>& beside) {
  trace::SpanColumns kept;
  for (size_t i = 0; i < spans.size(); ++i) {
    const int64_t start = spans.start_ns[i];
    const auto at = std::partition_point(beside.begin(), beside.end(),
                                         [&](const Beside& one) { return one.start_ns > start; });
    if (at != beside.end() && start < at->end_ns && spans.EndNs(i) <= at->end_ns) continue;
    kept.Append(start, spans.DurationNs(i), spans.span_class[i], ItemId{spans.item[i]});
  }
  return kept;
}

}  // namespace

std::string_view BesideLabel(std::string_view name) {
  if (name.starts_with("[pl]")) {
    for (const Named& known : kOfLightning) {
      if (name.find(known.name) != std::string_view::npos) return known.label;
    }
    return {};
  }
  for (const Named& known : kNames) {
    if (name == known.name) return known.label;
  }
  return LabelOfFunction(name);
}

void LabelBeside(model::Run& run,
                 const std::function<uint16_t(std::string_view label)>& label_class) {
  const std::vector<std::string_view> labels = LabelsOf(run);
  const auto named = [](std::string_view label) { return !label.empty(); };
  if (std::none_of(labels.begin(), labels.end(), named)) return;
  for (model::Track& detail : run.tracks) {
    if (detail.info.kind != trace::TrackKind::kDetail) continue;
    const std::vector<Beside> beside = BesideOn(detail.spans, labels);
    if (beside.empty()) continue;
    for (const Beside& one : beside) {
      detail.spans.Append(one.start_ns, one.end_ns - one.start_ns, label_class(one.label),
                          ItemId::None());
    }
    OrderSpans(detail.spans);
    for (model::Track& thread : run.tracks) {
      const bool same = thread.info.kind == trace::TrackKind::kThread &&
                        thread.info.thread == detail.info.thread &&
                        thread.info.name == detail.info.name;
      if (same) thread.spans = Outside(thread.spans, beside);
    }
  }
}

}  // namespace stallscope::importers
