#include "collectors/pipeline/builder.h"

#include <algorithm>
#include <utility>

#include "collectors/pipeline/cache_stage.h"
#include "collectors/pipeline/inline_stage.h"
#include "collectors/pipeline/order_stages.h"
#include "collectors/pipeline/random.h"
#include "collectors/pipeline/source_stage.h"

namespace stallscope::pipeline {
namespace {

// The most that "auto" may choose for a buffer, and for workers on so many cores.
constexpr int64_t kMostBuffer = 64;
int64_t MostWorkers(int64_t cores) { return std::max<int64_t>(cores * 2, 4); }

uint32_t Count(const Knob& knob) { return static_cast<uint32_t>(knob.value); }
bool HasWorkers(const Knob& knob) { return knob.automatic || knob.value > 1; }

}  // namespace

Builder::Builder(Graph& graph, SourceFiles files, uint64_t seed, int64_t cores, std::string stores,
                 StageContext& context)
    : graph_(graph),
      seed_(seed),
      cores_(cores),
      stores_(std::move(stores)),
      context_(context),
      shared_(std::make_shared<ReaderShared>()) {
  shared_->spec = graph.source();
  shared_->files = std::move(files);
  shared_->context = &context;
  if (shared_->spec.throttle_bytes_per_s > 0) {
    shared_->throttle = std::make_shared<data::TokenBucket>(
        static_cast<uint64_t>(shared_->spec.throttle_bytes_per_s));
  }
}

Builder::Names Builder::Define(const std::string& name, std::string_view kind, uint32_t workers,
                               bool ordered, uint64_t capacity) {
  Names names;
  if (context_.recorder == nullptr) return names;
  if (capacity > 0) names.queue = context_.recorder->DefineQueue({{}, name, capacity, false});
  trace::StageInfo stage;
  stage.name = name;
  stage.kind = kind;
  if (last_.known()) stage.inputs = {last_};
  stage.queue = names.queue;
  stage.workers = workers;
  stage.ordered = ordered;
  names.stage = context_.recorder->DefineStage(std::move(stage));
  last_ = names.stage;
  return names;
}

QueueId Builder::DefineInputLock(const std::string& name) {
  if (context_.recorder == nullptr) return QueueId::None();
  return context_.recorder->DefineQueue({{}, name + ".input", 1, true});
}

std::string Builder::StoreKey(size_t node) const {
  return PrefixKey(graph_, node, seed_, shared_->files.fingerprint);
}

std::string Builder::StorePath(size_t node) const {
  if (const auto* cache = std::get_if<CacheSpec>(&graph_.nodes[node].stage.kind)) {
    return cache->where == CacheWhere::kDisk ? cache->path : "";
  }
  if (const auto* snapshot = std::get_if<SnapshotSpec>(&graph_.nodes[node].stage.kind)) {
    return snapshot->path + "/" + StoreKey(node) + ".elements";
  }
  return "";
}

// By its key, so that a later run with the same stores finds it, and no other.
std::string Builder::NewStorePath(size_t node) const {
  std::string path = StorePath(node);
  if (stores_.empty() || path.empty()) return path;
  return stores_ + "/" + std::to_string(node) + "-" + StoreKey(node) + ".elements";
}

size_t Builder::FindSealed() {
  for (size_t node = graph_.nodes.size(); node-- > 1;) {
    for (const std::string& path : {StorePath(node), NewStorePath(node)}) {
      if (path.empty()) continue;
      sealed_ = OpenSealedStore(path, StoreKey(node), context_);
      if (sealed_ == nullptr) continue;
      sealed_path_ = path;
      return node;
    }
  }
  return 0;
}

Result<StagePtr> Builder::Build() {
  const size_t first = FindSealed();
  // What a store makes needless is named all the same: the reports show it as idle.
  for (size_t node = 0; node < first; ++node) {
    Define(graph_.nodes[node].stage.name, KindWord(graph_.nodes[node].stage), 1, true, 0);
  }
  if (first > 0) {
    context_.ledger.Note("'" + graph_.nodes[first].stage.name +
                         "' has what an earlier run stored in " + sealed_path_);
  }
  StagePtr last;
  for (size_t node = first; node < graph_.nodes.size(); ++node) {
    STALLSCOPE_ASSIGN_OR_RETURN(last, Make(node, std::move(last)));
  }
  for (DeviceMap& map : graph_.device_maps) {
    map.stage = Define(map.name, "map", 1, true, 0).stage;
  }
  return last;
}

Result<StagePtr> Builder::Make(size_t node, StagePtr input) {
  const Node& made = graph_.nodes[node];
  const std::string& name = made.stage.name;
  if (std::holds_alternative<SourceSpec>(made.stage.kind)) return MakeSource(made);
  if (std::holds_alternative<MapSpec>(made.stage.kind)) return MakeMap(made, std::move(input));
  if (std::holds_alternative<BatchSpec>(made.stage.kind)) return MakeBatch(made, std::move(input));
  if (std::holds_alternative<FilterSpec>(made.stage.kind)) {
    return MakeFilter(made, std::move(input));
  }
  if (std::holds_alternative<PrefetchSpec>(made.stage.kind)) {
    return MakePrefetch(made, std::move(input));
  }
  if (std::holds_alternative<ShuffleSpec>(made.stage.kind)) {
    return MakeShuffle(made, std::move(input));
  }
  if (const auto* shard = std::get_if<ShardSpec>(&made.stage.kind)) {
    Define(name, "shard", 1, true, 0);
    return StagePtr(std::make_unique<ShardStage>(std::move(input), *shard, context_));
  }
  if (const auto* repeat = std::get_if<RepeatSpec>(&made.stage.kind)) {
    Define(name, "repeat", 1, true, 0);
    return StagePtr(std::make_unique<RepeatStage>(std::move(input), *repeat, context_));
  }
  return MakeStore(node, std::move(input));
}

Result<StagePtr> Builder::MakeSource(const Node& node) {
  SourceSpec& source = shared_->spec;
  const std::string& name = node.stage.name;
  const bool serial = source.format == SourceFormat::kSerial;
  const bool files = !shared_->files.paths.empty();
  if (source.cycle_length.automatic) {
    source.cycle_length = {
        std::min<int64_t>(static_cast<int64_t>(shared_->files.paths.size()), MostWorkers(cores_)),
        false};
    context_.ledger.Note("auto set " + name + ".cycle_length to " +
                         std::to_string(source.cycle_length.value));
  }
  const bool workers = HasWorkers(source.parallelism) && !serial;
  if (!files) {
    const auto elements = static_cast<uint64_t>(source.elements);
    const uint32_t count = workers ? Count(source.parallelism) : 1;
    const Names names =
        Define(name, "source", count, source.deterministic || !workers, workers ? count : 0);
    auto runner = std::make_unique<SyntheticRunner>(source, names.stage, context_);
    auto counting = std::make_unique<CountingSource>(elements, context_);
    if (!workers) {
      return StagePtr(
          std::make_unique<InlineStage>(std::move(counting), std::move(runner), context_));
    }
    return MakeWorkers(name, names, std::move(counting), std::move(runner), source.parallelism,
                       source.deterministic);
  }
  if (!workers) {
    const Names names = Define(name, "source", 1, true, 0);
    return StagePtr(
        std::make_unique<InlineSource>(shared_, SourceOptions{name, names.stage, names.queue}));
  }
  const auto cycle = static_cast<uint64_t>(source.cycle_length.value);
  const Names names =
      Define(name, "source", Count(source.parallelism), source.deterministic, cycle);
  auto stage =
      std::make_unique<ParallelSource>(shared_, SourceOptions{name, names.stage, names.queue});
  if (source.parallelism.automatic) {
    ParallelSource* const tuned = stage.get();
    tunables_.push_back({name + ".parallelism", 1,
                         std::min<int64_t>(MostWorkers(cores_), source.cycle_length.value), false,
                         [tuned](int64_t value) { tuned->SetParallelism(value); },
                         [tuned] { return tuned->load(); }});
  }
  return StagePtr(std::move(stage));
}

StagePtr Builder::MakeWorkers(const std::string& name, Names names, StagePtr input,
                              std::unique_ptr<const Runner> runner, const Knob& parallelism,
                              bool ordered) {
  WorkerOptions options;
  options.name = name;
  options.stage = names.stage;
  options.queue = names.queue;
  options.input_lock = DefineInputLock(name);
  options.parallelism = parallelism.value;
  options.queue_limit = static_cast<uint64_t>(parallelism.value);
  options.queue_most =
      static_cast<uint64_t>(parallelism.automatic ? MostWorkers(cores_) : parallelism.value);
  options.ordered = ordered;
  auto stage = std::make_unique<WorkerStage>(std::move(input), std::move(runner),
                                             std::move(options), context_);
  if (parallelism.automatic) {
    WorkerStage* const tuned = stage.get();
    tunables_.push_back(
        {name + ".parallelism", parallelism.value, MostWorkers(cores_), false,
         [tuned](int64_t value) {
           tuned->SetQueueLimit(static_cast<uint64_t>(value));
           tuned->SetParallelism(value);
         },
         [tuned] {
           return StageLoad{tuned->busy_ticks(), tuned->times_empty(), tuned->times_full()};
         }});
  }
  return stage;
}

Result<std::vector<MapPart>> Builder::MakeParts(const Node& node, uint32_t workers) {
  const bool ordered = !std::holds_alternative<MapSpec>(node.stage.kind) ||
                       std::get<MapSpec>(node.stage.kind).deterministic;
  std::vector<MapPart> parts;
  for (const MapPiece& piece : node.pieces) {
    MapPart part;
    part.name = piece.name;
    STALLSCOPE_ASSIGN_OR_RETURN(part.ops, MakeOps(piece.ops, graph_.source().features));
    // The last piece of a map is the stage that has the queue; its caller defines it.
    const bool last =
        &piece == &node.pieces.back() && std::holds_alternative<MapSpec>(node.stage.kind);
    if (!last) part.stage = Define(piece.name, "map", workers, ordered, 0).stage;
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<StagePtr> Builder::MakeMap(const Node& node, StagePtr input) {
  const auto& map = std::get<MapSpec>(node.stage.kind);
  const bool workers = HasWorkers(map.parallelism);
  const uint32_t count = Count(map.parallelism);
  STALLSCOPE_ASSIGN_OR_RETURN(std::vector<MapPart> parts, MakeParts(node, count));
  const std::string& name = node.pieces.back().name;
  const Names names =
      Define(name, "map", count, map.deterministic || !workers, workers ? count : 0);
  parts.back().stage = names.stage;
  auto runner = std::make_unique<MapRunner>(std::move(parts), context_);
  if (!workers) {
    return StagePtr(std::make_unique<InlineStage>(std::move(input), std::move(runner), context_));
  }
  return MakeWorkers(name, names, std::move(input), std::move(runner), map.parallelism,
                     map.deterministic);
}

Result<StagePtr> Builder::MakeBatch(const Node& node, StagePtr input) {
  const auto& batch = std::get<BatchSpec>(node.stage.kind);
  const bool workers = HasWorkers(batch.parallelism);
  const uint32_t count = Count(batch.parallelism);
  STALLSCOPE_ASSIGN_OR_RETURN(std::vector<MapPart> parts, MakeParts(node, count));
  const Names names = Define(node.stage.name, "batch", count, true, workers ? count : 0);
  auto runner = std::make_unique<BatchRunner>(
      BatchOptions{names.stage, node.stage.name, batch.size, batch.drop_remainder, batch.pad},
      std::move(parts), context_);
  if (!workers) {
    return StagePtr(std::make_unique<InlineStage>(std::move(input), std::move(runner), context_));
  }
  return MakeWorkers(node.stage.name, names, std::move(input), std::move(runner), batch.parallelism,
                     true);
}

StagePtr Builder::MakePrefetch(const Node& node, StagePtr input) {
  const Knob& buffer = std::get<PrefetchSpec>(node.stage.kind).buffer_size;
  if (!buffer.automatic && buffer.value == 0) {
    Define(node.stage.name, "prefetch", 1, true, 0);
    return input;
  }
  const Names names =
      Define(node.stage.name, "prefetch", 1, true, static_cast<uint64_t>(buffer.value));
  WorkerOptions options;
  options.name = node.stage.name;
  options.stage = names.stage;
  options.queue = names.queue;
  options.input_lock = DefineInputLock(node.stage.name);
  options.queue_limit = static_cast<uint64_t>(buffer.value);
  options.queue_most = static_cast<uint64_t>(buffer.automatic ? kMostBuffer : buffer.value);
  auto stage = std::make_unique<WorkerStage>(std::move(input), std::make_unique<IdentityRunner>(),
                                             std::move(options), context_);
  if (buffer.automatic) {
    WorkerStage* const tuned = stage.get();
    tunables_.push_back(
        {node.stage.name + ".buffer_size", buffer.value, kMostBuffer, true,
         [tuned](int64_t value) { tuned->SetQueueLimit(static_cast<uint64_t>(value)); },
         [tuned] {
           return StageLoad{0, tuned->times_empty(), tuned->times_full()};
         }});
  }
  return stage;
}

StagePtr Builder::MakeShuffle(const Node& node, StagePtr input) {
  const auto& shuffle = std::get<ShuffleSpec>(node.stage.kind);
  const Names names =
      Define(node.stage.name, "shuffle", 1, true, static_cast<uint64_t>(shuffle.buffer_size));
  return std::make_unique<ShuffleStage>(std::move(input), shuffle, Salt(node.stage.name, 0),
                                        names.queue, context_);
}

Result<StagePtr> Builder::MakeFilter(const Node& node, StagePtr input) {
  const auto& filter = std::get<FilterSpec>(node.stage.kind);
  STALLSCOPE_ASSIGN_OR_RETURN(OpCall call, ParseOp(filter.op));
  STALLSCOPE_ASSIGN_OR_RETURN(
      auto predicate,
      MakePredicate({std::move(call), Salt(node.stage.name, 0)}, graph_.source().features));
  const Names names = Define(node.stage.name, "filter", 1, true, 0);
  return StagePtr(
      std::make_unique<FilterStage>(std::move(input), std::move(predicate), names.stage, context_));
}

Result<StagePtr> Builder::MakeStore(size_t node, StagePtr input) {
  const StageSpec& stage = graph_.nodes[node].stage;
  CacheOptions options;
  options.name = stage.name;
  options.stage = Define(stage.name, KindWord(stage), 1, true, 0).stage;
  std::unique_ptr<ElementStore> store;
  const auto* const cache = std::get_if<CacheSpec>(&stage.kind);
  if (cache != nullptr) options.max_bytes = static_cast<uint64_t>(cache->max_bytes);
  if (cache != nullptr && cache->where == CacheWhere::kMemory) {
    store = MakeMemoryStore(context_);
    options.place = std::make_shared<const std::string>("cache '" + stage.name + "'");
  } else {
    std::string path = sealed_path_;
    if (input == nullptr) {  // it is what FindSealed() found
      store = std::move(sealed_);
    } else {
      path = NewStorePath(node);
      STALLSCOPE_ASSIGN_OR_RETURN(
          store, MakeFileStore({path, StoreKey(node), stage.name + ".path"}, context_));
    }
    if (path.empty()) path = stage.name;
    options.place = std::make_shared<const std::string>(std::move(path));
  }
  return StagePtr(std::make_unique<CacheStage>(std::move(input), std::move(store),
                                               std::move(options), context_));
}

}  // namespace stallscope::pipeline
