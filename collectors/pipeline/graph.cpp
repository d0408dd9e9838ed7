#include "collectors/pipeline/graph.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "collectors/pipeline/random.h"

namespace stallscope::pipeline {
namespace {

template <class Kind>
const Kind* As(const Node& node) {
  return std::get_if<Kind>(&node.stage.kind);
}

bool MayFollowDeviceMap(const Node& node) {
  return As<BatchSpec>(node) != nullptr || As<PrefetchSpec>(node) != nullptr;
}

// Ordered, whatever the timing, in this node.
bool KeepsOrder(const Node& node) {
  if (const auto* source = As<SourceSpec>(node)) return source->deterministic;
  if (const auto* map = As<MapSpec>(node)) return map->deterministic;
  return true;
}

nlohmann::ordered_json KnobJson(const Knob& knob) {
  if (knob.automatic) return "auto";
  return knob.value;
}

// The fields that matter for what runs; the spec itself has the rest.
struct FieldsJson {
  nlohmann::ordered_json& json;

  void operator()(const SourceSpec& source) const {
    json["format"] = ToWord(source.format);
    json["cycle_length"] = KnobJson(source.cycle_length);
    json["block_length"] = source.block_length;
    json["parallelism"] = KnobJson(source.parallelism);
    json["deterministic"] = source.deterministic;
  }
  void operator()(const ShardSpec& shard) const {
    json["count"] = shard.count;
    json["index"] = shard.index;
  }
  void operator()(const RepeatSpec& repeat) const { json["count"] = repeat.count; }
  void operator()(const FilterSpec& filter) const { json["op"] = filter.op; }
  void operator()(const ShuffleSpec& shuffle) const { json["buffer_size"] = shuffle.buffer_size; }
  void operator()(const PrefetchSpec& prefetch) const {
    json["buffer_size"] = KnobJson(prefetch.buffer_size);
  }
  void operator()(const MapSpec& map) const {
    json["parallelism"] = KnobJson(map.parallelism);
    json["deterministic"] = map.deterministic;
  }
  void operator()(const CacheSpec& cache) const { json["where"] = ToWord(cache.where); }
  void operator()(const SnapshotSpec&) const {}
  void operator()(const BatchSpec& batch) const {
    json["size"] = batch.size;
    json["drop_remainder"] = batch.drop_remainder;
    json["parallelism"] = KnobJson(batch.parallelism);
  }
};

nlohmann::ordered_json NodeJson(const Node& node) {
  nlohmann::ordered_json json;
  json["name"] = node.stage.name;
  json["kind"] = KindWord(node.stage);
  std::visit(FieldsJson{json}, node.stage.kind);
  if (node.vectorised) json["vectorised"] = true;
  for (const MapPiece& piece : node.pieces) {
    nlohmann::ordered_json ops = nlohmann::ordered_json::array();
    for (const OpInstance& op : piece.ops) ops.push_back(op.call.Text());
    json["maps"].push_back({{"name", piece.name}, {"ops", std::move(ops)}});
  }
  return json;
}

}  // namespace

bool Graph::ordered() const { return std::all_of(nodes.begin(), nodes.end(), KeepsOrder); }

Result<Graph> Lower(const Spec& spec) {
  Graph graph;
  for (const StageSpec& stage : spec.stages) {
    Node node{stage, {}, false};
    if (const auto* map = std::get_if<MapSpec>(&stage.kind)) {
      MapPiece piece{stage.name, {}};
      for (size_t i = 0; i < map->ops.size(); ++i) {
        STALLSCOPE_ASSIGN_OR_RETURN(OpCall call, ParseOp(map->ops[i]));
        piece.ops.push_back({std::move(call), Salt(stage.name, i)});
      }
      if (map->on == MapOn::kDevice) {
        graph.device_maps.push_back({StageId::None(), stage.name, std::move(piece.ops)});
        continue;
      }
      node.pieces.push_back(std::move(piece));
    }
    if (!graph.device_maps.empty() && !MayFollowDeviceMap(node)) {
      return Error{ErrorKind::kUsage,
                   fmt::format("'{}' would need what '{}' does on the device back on the host",
                               stage.name, graph.device_maps.back().name),
                   stage.name + " (" + std::string(KindWord(stage)) + ")",
                   "only batch, prefetch and other maps on the device may stand behind one"};
    }
    graph.nodes.push_back(std::move(node));
  }
  graph.skip_errors = graph.source().on_error == OnError::kSkip;
  return graph;
}

std::string GraphJson(const Graph& graph) {
  nlohmann::ordered_json json;
  json["stages"] = nlohmann::ordered_json::array();
  for (const Node& node : graph.nodes) json["stages"].push_back(NodeJson(node));
  for (const DeviceMap& map : graph.device_maps) {
    nlohmann::ordered_json ops = nlohmann::ordered_json::array();
    for (const OpInstance& op : map.ops) ops.push_back(op.call.Text());
    json["stages"].push_back(
        {{"name", map.name}, {"kind", "map"}, {"on", "device"}, {"ops", std::move(ops)}});
  }
  json["rewrites"] = graph.rewrites;
  return json.dump();
}

std::string PrefixKey(const Graph& graph, size_t node, uint64_t seed,
                      const std::string& fingerprint) {
  std::string text = fmt::format("{} {}\n", seed, fingerprint);
  for (size_t i = 0; i < node; ++i) {
    nlohmann::ordered_json json = NodeJson(graph.nodes[i]);
    json.erase("parallelism");
    if (const auto* source = As<SourceSpec>(graph.nodes[i])) {
      json["elements"] = source->elements;
      json["bytes"] = source->bytes;
      json["features"] = source->features;
    }
    // Where elements wait does not change them.
    const std::string kind(KindWord(graph.nodes[i].stage));
    if (kind != "prefetch" && kind != "cache" && kind != "snapshot") text += json.dump() + "\n";
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace stallscope::pipeline
