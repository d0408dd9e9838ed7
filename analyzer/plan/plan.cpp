#include "analyzer/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/base/splitmix.h"
#include "analyzer/plan/rewrites.h"

namespace stallscope::plan {
namespace {

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
    if (source.join == SourceJoin::kZip) json["join"] = ToWord(source.join);
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
  void operator()(const BucketByLengthSpec& bucket) const { json["width"] = bucket.width; }
  void operator()(const BatchSpec& batch) const {
    json["size"] = batch.size;
    json["drop_remainder"] = batch.drop_remainder;
    json["parallelism"] = KnobJson(batch.parallelism);
  }
  void operator()(const LoaderSpec&) const {}  // of a job: never in a plan
};

nlohmann::ordered_json NodeJson(const Node& node) {
  nlohmann::ordered_json json;
  json["name"] = node.stage.name;
  json["kind"] = KindWord(node.stage);
  std::visit(FieldsJson{json}, node.stage.kind);
  if (node.vectorized) json["vectorised"] = true;
  for (const MapPiece& piece : node.pieces) {
    nlohmann::ordered_json ops = nlohmann::ordered_json::array();
    for (const OpInstance& op : piece.ops) ops.push_back(op.call.Text());
    json["maps"].push_back({{"name", piece.name}, {"ops", std::move(ops)}});
    if (piece.input > 0) json["maps"].back()["input"] = piece.input;
  }
  return json;
}

}  // namespace

uint64_t Salt(std::string_view stage, uint64_t place) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : stage) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash + place * kSplitMixStep;
}

bool IsZipped(const Node& node) {
  const auto* const source = As<SourceSpec>(node);
  return source != nullptr && source->join == SourceJoin::kZip;
}

const SourceSpec& Graph::source(size_t input) const {
  size_t node = 0;
  while (input > 0) {
    if (IsZipped(nodes[++node])) --input;
  }
  return std::get<SourceSpec>(nodes[node].stage.kind);
}

bool Graph::ordered() const { return std::all_of(nodes.begin(), nodes.end(), KeepsOrder); }

Result<Graph> Lower(const Spec& spec) {
  Graph graph;
  const std::vector<std::string> zipped = ZippedInputs(spec);
  for (const StageSpec& stage : spec.stages) {
    Node node{stage, {}, false};
    if (const auto* map = std::get_if<MapSpec>(&stage.kind)) {
      MapPiece piece{stage.name, {}};
      const auto input = std::find(zipped.begin(), zipped.end(), map->input);
      if (!map->input.empty()) piece.input = static_cast<size_t>(input - zipped.begin()) + 1;
      for (size_t i = 0; i < map->ops.size(); ++i) {
        STALLSCOPE_ASSIGN_OR_RETURN(OpCall call, ParseOp(map->ops[i]));
        piece.ops.push_back({std::move(call), Salt(stage.name, i)});
      }
      if (map->on == MapOn::kDevice) {
        graph.device_maps.push_back(std::move(piece));
        continue;
      }
      node.pieces.push_back(std::move(piece));
    }
    if (!graph.device_maps.empty() && !MayFollowDeviceMap(node)) {
      return Error{ErrorKind::kUsage,
                   fmt::format("'{}' runs on the host and cannot follow '{}' on the device",
                               stage.name, graph.device_maps.back().name),
                   stage.name + " (" + std::string(KindWord(stage)) + ")",
                   "only batch, prefetch and other maps on the device can follow one"};
    }
    graph.nodes.push_back(std::move(node));
  }
  graph.skip_errors = graph.source().on_error == OnError::kSkip;
  Rewrite(spec.rewrites, graph);
  return graph;
}

std::string GraphJson(const Graph& graph) {
  nlohmann::ordered_json json;
  json["stages"] = nlohmann::ordered_json::array();
  for (const Node& node : graph.nodes) json["stages"].push_back(NodeJson(node));
  for (const MapPiece& map : graph.device_maps) {
    nlohmann::ordered_json ops = nlohmann::ordered_json::array();
    for (const OpInstance& op : map.ops) ops.push_back(op.call.Text());
    json["stages"].push_back(
        {{"name", map.name}, {"kind", "map"}, {"on", "device"}, {"ops", std::move(ops)}});
  }
  json["rewrites"] = graph.rewrites;
  return json.dump();
}

std::string PrefixText(const Graph& graph, size_t node) {
  std::string text;
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
  return text;
}

bool HasThreads(const Knob& parallelism) { return parallelism.automatic || parallelism.value > 1; }

Threads ThreadsOf(const Node& node) {
  Threads threads;
  const auto work = [&](const Knob& parallelism, bool ordered) {
    if (!HasThreads(parallelism)) return;
    threads = {true, parallelism, parallelism, ordered};
  };
  if (const auto* source = As<SourceSpec>(node)) {
    // One reader under one lock, by its nature.
    if (source->format == SourceFormat::kSerial) return threads;
    work(source->parallelism, source->deterministic);
    if (threads.own && !source->files.empty()) threads.capacity = source->cycle_length;
  } else if (const auto* map = As<MapSpec>(node)) {
    work(map->parallelism, map->deterministic);
  } else if (const auto* batch = As<BatchSpec>(node)) {
    work(batch->parallelism, true);
  } else if (const auto* prefetch = As<PrefetchSpec>(node)) {
    threads.capacity = prefetch->buffer_size;
    threads.own = threads.capacity.automatic || threads.capacity.value > 0;
  } else if (const auto* shuffle = As<ShuffleSpec>(node)) {
    threads.capacity.value = shuffle->buffer_size;
  }
  return threads;
}

std::vector<RecordedStage> StagesOf(const Node& node) {
  const Threads threads = ThreadsOf(node);
  RecordedStage stage;
  stage.kind = "map";
  stage.workers = static_cast<uint32_t>(threads.workers.value);
  stage.ordered = threads.ordered;
  std::vector<RecordedStage> stages;
  for (const MapPiece& piece : node.pieces) {
    stage.name = piece.name;
    stages.push_back(stage);
  }
  // The last piece of a map is the node's own stage.
  if (As<MapSpec>(node) == nullptr) {
    stage.name = node.stage.name;
    stage.kind = KindWord(node.stage);
    stage.zipped = IsZipped(node);
    stages.push_back(stage);
  }
  stages.back().capacity = static_cast<uint64_t>(threads.capacity.value);
  return stages;
}

int64_t MostWorkers(int64_t cores) { return std::max<int64_t>(cores * 2, 4); }

int64_t AutoCycle(int64_t files, int64_t cores) { return std::min(files, MostWorkers(cores)); }

int64_t TunerCores(const BudgetSpec& budget, int64_t machine) {
  return budget.cores > 0 ? budget.cores : std::max<int64_t>(machine, 1);
}

int64_t LaneCapacity(const SourceSpec& source) {
  // Under 4 a reader would be woken for every element; over 64 large blocks would hold whole files.
  constexpr int64_t kLeast = 4;
  constexpr int64_t kMost = 64;
  return std::clamp(source.block_length, kLeast, kMost);
}

}  // namespace stallscope::plan
