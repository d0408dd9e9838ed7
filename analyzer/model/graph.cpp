#include "analyzer/model/graph.h"

#include <nlohmann/json.hpp>

#include "analyzer/model/job_spec.h"

namespace stallscope::model {
namespace {

using Json = nlohmann::json;

std::string TextIn(const Json& node, const char* name) {
  const auto found = node.find(name);
  return found != node.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string JsonIn(const Json& node, const char* name) {
  const auto found = node.find(name);
  if (found == node.end()) return "";
  return found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The number of stages between this one and its source, limited by the number of all stages: a
// trace may contain a cycle.
size_t DepthOf(const Run& run, const trace::StageInfo& stage) {
  const trace::StageInfo* at = &stage;
  size_t depth = 0;
  while (!at->inputs.empty() && depth < run.stages.size()) {
    const uint32_t input = at->inputs.front().value;
    if (input >= run.stages.size()) break;
    at = &run.stages[input];
    ++depth;
  }
  return depth;
}

}  // namespace

std::vector<GraphNode> GraphOf(const trace::LoaderInfo& loader) {
  std::vector<GraphNode> graph;
  const auto settings = SettingsOf(loader);
  const auto found = settings.find("graph");
  if (found == settings.end()) return graph;
  const auto nodes = Json::parse(found->second, nullptr, false);
  if (!nodes.is_array()) return graph;
  for (const Json& node : nodes) {
    if (!node.is_object()) continue;
    const auto line = node.find("line");
    GraphNode& made = graph.emplace_back();
    made.op = TextIn(node, "op");
    made.function = TextIn(node, "function");
    const bool is_line = line != node.end() && line->is_number_unsigned();
    made.line = is_line ? static_cast<uint32_t>(line->get<uint64_t>() & 0xffffffffU) : 0;
    made.elsewhere = TextIn(node, "elsewhere");
    made.calls = JsonIn(node, "num_parallel_calls");
    made.buffer = JsonIn(node, "buffer_size");
  }
  return graph;
}

std::string_view BaseOf(std::string_view op) {
  const size_t version = op.find_last_not_of("0123456789");
  if (version != std::string_view::npos && version + 1 < op.size() && op[version] == 'V') {
    op = op.substr(0, version);
  }
  if (op.starts_with("Parallel")) op.remove_prefix(std::string_view("Parallel").size());
  // from_generator() is a flat_map() over a generator of its own.
  if (op == "Generator") return "FlatMap";
  return op == "MapAndBatch" ? "Map" : op;
}

std::optional<GraphNode> NodeOf(const Run& run, const trace::StageInfo& stage) {
  if (stage.loader.value >= run.loaders.size()) return std::nullopt;
  std::vector<GraphNode> nodes;
  for (GraphNode& node : GraphOf(run.loaders[stage.loader.value].info)) {
    if (!node.op.empty() && BaseOf(node.op) == BaseOf(stage.kind)) nodes.push_back(std::move(node));
  }
  size_t stages = 0;
  size_t before = 0;
  const size_t depth = DepthOf(run, stage);
  for (const trace::StageInfo& other : run.stages) {
    if (other.loader != stage.loader || BaseOf(other.kind) != BaseOf(stage.kind)) continue;
    ++stages;
    if (DepthOf(run, other) < depth) ++before;
  }
  // TensorFlow fuses some nodes and drops others: the order tells only if all are there.
  if (nodes.size() == 1) return nodes.front();
  if (nodes.size() != stages || before >= nodes.size()) return std::nullopt;
  return nodes[before];
}

}  // namespace stallscope::model
