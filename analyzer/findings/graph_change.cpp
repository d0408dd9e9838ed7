#include "analyzer/findings/graph_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "analyzer/findings/python_call.h"
#include "analyzer/model/graph.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

// A method of a data set, and its positional parameters.
struct GraphMethod {
  std::string name;
  std::vector<std::string> parameters;
};

// The method that makes such a node: padded_batch() for "PaddedBatch".
GraphMethod MethodOf(std::string_view op) {
  GraphMethod method;
  for (const char c : model::BaseOf(op)) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !method.name.empty()) method.name += '_';
    method.name += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (method.name == "map") {
    method.parameters = {"map_func", "num_parallel_calls", "deterministic"};
  } else if (method.name == "interleave") {
    method.parameters = {"map_func", "cycle_length", "block_length", "num_parallel_calls",
                         "deterministic"};
  } else if (method.name == "batch") {
    method.parameters = {"batch_size", "drop_remainder", "num_parallel_calls", "deterministic"};
  } else if (method.name == "prefetch") {
    method.parameters = {"buffer_size"};
  }
  return method;
}

bool Takes(const GraphMethod& method, const std::string& argument) {
  return std::find(method.parameters.begin(), method.parameters.end(), argument) !=
         method.parameters.end();
}

// The value that leaves a choice to TensorFlow's tuner, as this file spells it; -1 if it has no
// name there.
std::string AutotuneIn(const trace::CallSite& call) {
  if (!call.names.empty()) return call.names.front() + ".data.AUTOTUNE";
  return call.source.find("tf.data.") != std::string::npos ? "tf.data.AUTOTUNE" : "-1";
}

// The only call of this method on the line.
std::optional<PythonCall> CallOnLine(const ChangedLines& lines, uint32_t line,
                                     const GraphMethod& method) {
  const auto begin = OffsetOf(lines, line, 0);
  if (!begin) return std::nullopt;
  const size_t end = std::min(lines.before.find('\n', *begin), lines.before.size());
  auto calls = FindCalls(lines.before, *begin, end, {method.name});
  return calls.size() == 1 ? std::move(calls.front()) : std::nullopt;
}

// Adds a call after this one, on a line of its own if this one has its own line.
std::string WithNextCall(const std::string& text, const PythonCall& call, const std::string& next) {
  const size_t begin = call.begin == 0 ? 0 : text.rfind('\n', call.begin - 1) + 1;
  const std::string before = text.substr(begin, call.begin - begin);
  const size_t dot = before.find_first_not_of(" \t");
  size_t line_end = std::min(text.find('\n', call.end), text.size());
  const bool dos = line_end > call.end && text[line_end - 1] == '\r';
  if (dos) --line_end;
  const std::string rest = text.substr(call.end, line_end - call.end);
  const size_t word = rest.find_first_not_of(" \t");
  // Within brackets a comment may follow each call. A line that a backslash continues has none: the
  // new call stays on it.
  const bool own_line = dot != std::string::npos && before.substr(dot) == "." && begin > 1 &&
                        text.substr(0, begin - 1).find_last_of('\\') != begin - 2;
  if (!own_line) return text.substr(0, call.end) + next + text.substr(call.end);
  const bool comment = word == std::string::npos || rest[word] == '#';
  const size_t at = comment ? line_end : call.end;
  return text.substr(0, at) + (dos ? "\r\n" : "\n") + before.substr(0, dot) + next +
         text.substr(at);
}

// The edit of one node of the graph.
struct NodeEdit {
  model::GraphNode node;
  std::string argument;  // empty: adds a call after it
  std::string value;     // as Python
};

std::optional<NodeEdit> EditOf(const model::Run& run, StageId stage, GraphEdit edit,
                               const model::Loader& loader, const Patch& patch) {
  const std::string autotune = AutotuneIn(loader.info.call);
  if (edit == GraphEdit::kAhead) {
    const auto graph = model::GraphOf(loader.info);
    if (graph.empty() || graph.back().buffer == R"("autotune")") return std::nullopt;
    const bool prefetches = model::BaseOf(graph.back().op) == "Prefetch";
    return NodeEdit{graph.back(), prefetches ? "buffer_size" : "",
                    autotune == "-1" ? "2" : autotune};
  }
  const auto node = model::NodeOf(run, run.stages[stage.value]);
  if (!node) return std::nullopt;
  if (edit == GraphEdit::kAnyOrder) {
    // It has no effect on one call at a time, and TensorFlow warns.
    if (node->calls.empty()) return std::nullopt;
    return NodeEdit{*node, "deterministic", "False"};
  }
  if (node->calls == R"("autotune")") return std::nullopt;
  NodeEdit made{*node, "num_parallel_calls", autotune};
  const std::string path = std::string(run.NameOf(stage)) + ".parallelism";
  const std::string calls = loader.name + ".num_parallel_calls";
  for (const auto& change : patch.changes) {
    const auto* const set = std::get_if<SetChange>(&change);
    const bool sets = set != nullptr && (set->path == path || set->path == calls);
    if (sets && set->value != R"("auto")") made.value = set->value;
  }
  return made;
}

// The changed lines, or the reason why they cannot be changed.
std::variant<std::string, Refusal> WithEdit(const NodeEdit& edit, const ChangedLines& lines) {
  const GraphMethod method = MethodOf(edit.node.op);
  const auto call = CallOnLine(lines, edit.node.line, method);
  if (!call) return Refusal{fmt::format("is not a plain call to {}()", method.name)};
  if (edit.argument.empty()) {
    return WithNextCall(lines.before, *call, ".prefetch(" + edit.value + ")");
  }
  if (!Takes(method, edit.argument)) {
    return Refusal{fmt::format("calls a method that does not take {}", edit.argument)};
  }
  return WithArgument(lines.before, *call, {method.parameters, {}, false}, edit.argument,
                      edit.value);
}

// The tf.data loader whose graph has the stage.
const model::Loader* GraphLoaderOf(const model::Run& run, StageId stage) {
  if (!model::IsJob(run) || stage.value >= run.stages.size()) return nullptr;
  const LoaderId id = run.stages[stage.value].loader;
  if (id.value >= run.loaders.size()) return nullptr;
  const model::Loader* const loader = &run.loaders[id.value];
  return model::IsTfData(loader->info) ? loader : nullptr;
}

}  // namespace

std::vector<SourceChange> GraphChangesOf(const model::Run& run, StageId stage, GraphEdit edit,
                                         const Patch& patch) {
  const model::Loader* const loader = GraphLoaderOf(run, stage);
  if (loader == nullptr || loader->info.file.empty()) return {};
  const auto wanted = EditOf(run, stage, edit, *loader, patch);
  if (!wanted) return {};
  const trace::CallSite& call = loader->info.call;
  SourceChange change;
  change.file = loader->info.file;
  change.line = wanted->node.line != 0 ? wanted->node.line : loader->info.line;
  const std::string place = words::PlaceInCode(change.file, change.line);
  const std::string what = wanted->argument.empty() ? ".prefetch(" + wanted->value + ") after it"
                                                    : wanted->argument + "=" + wanted->value;
  if (call.source.empty() || wanted->node.line == 0) {
    change.by_hand.push_back(
        fmt::format("set {} at {}: the trace does not have these lines", what, place));
    return {change};
  }
  ChangedLines lines{std::max(call.source_line, 1U), call.source, {}};
  auto changed = WithEdit(*wanted, lines);
  if (const auto* const refusal = std::get_if<Refusal>(&changed)) {
    change.by_hand.push_back(
        fmt::format("set {} by hand: the call at {} {}", what, place, refusal->why));
    return {change};
  }
  lines.after = std::get<std::string>(std::move(changed));
  if (lines.after == lines.before) return {};
  change.lines = {std::move(lines)};
  change.diff = UnifiedDiff(change.file, change.lines, run.info);
  if (change.diff.empty()) change.lines.clear();
  return {change};
}

GraphPlace GraphPlaceOf(const model::Run& run, StageId stage) {
  const model::Loader* const loader = GraphLoaderOf(run, stage);
  if (loader == nullptr) return {};
  const auto node = model::NodeOf(run, run.stages[stage.value]);
  const bool known = node && node->line != 0;
  return {loader->info.file, known ? node->line : loader->info.line};
}

}  // namespace stallscope::findings
