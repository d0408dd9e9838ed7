#include "collectors/pipeline/builder.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <utility>

#include "collectors/pipeline/cache_stage.h"
#include "collectors/pipeline/order_stages.h"
#include "collectors/pipeline/source_stage.h"

namespace stallscope::pipeline {
PipelineBuilder::PipelineBuilder(const plan::Graph& graph, std::vector<SourceFiles> files,
                                 uint64_t seed, int64_t cores, std::string stores,
                                 StageContext& context)
    : graph_(graph),
      seed_(seed),
      cores_(cores),
      stores_(std::move(stores)),
      context_(context),
      fingerprint_(FingerprintOf(files)) {
  uint32_t first_file = 0;
  for (SourceFiles& found : files) {
    auto shared = std::make_shared<ReaderShared>();
    shared->spec = std::get<SourceSpec>(graph.nodes[sources_.size()].stage.kind);
    shared->files = std::move(found);
    shared->first_file = first_file;
    shared->context = &context;
    if (shared->spec.throttle_bytes_per_s > 0) {
      shared->throttle = std::make_shared<data::TokenBucket>(
          static_cast<uint64_t>(shared->spec.throttle_bytes_per_s));
    }
    // What is made up counts as one file.
    first_file += static_cast<uint32_t>(std::max<size_t>(shared->files.paths.size(), 1));
    sources_.push_back(std::move(shared));
  }
}

PipelineBuilder::Names PipelineBuilder::Define(const plan::RecordedStage& stage, size_t files) {
  Names names;
  if (context_.recorder == nullptr) return names;
  if (stage.capacity > 0) {
    names.queue = context_.recorder->DefineQueue({{}, stage.name, stage.capacity, false});
  }
  trace::StageInfo info;
  info.name = stage.name;
  info.kind = stage.kind;
  if (stage.kind != "source") {
    info.inputs = std::exchange(last_, {});
  } else if (!stage.zipped && !last_.empty()) {
    info.inputs = {last_.back()};
    last_.pop_back();
  }
  info.queue = names.queue;
  info.workers = stage.workers;
  info.ordered = stage.ordered;
  // A short recording reads few of them.
  if (files > 0) info.settings["files"] = std::to_string(files);
  names.stage = context_.recorder->DefineStage(std::move(info));
  last_.push_back(names.stage);
  return names;
}

std::vector<PipelineBuilder::Names> PipelineBuilder::Define(const plan::Node& node) {
  std::vector<Names> all;
  for (const plan::RecordedStage& stage : plan::StagesOf(node)) all.push_back(Define(stage));
  return all;
}

QueueId PipelineBuilder::DefineInputLock(const std::string& name) {
  if (context_.recorder == nullptr) return QueueId::None();
  return context_.recorder->DefineQueue({{}, name + ".input", 1, true});
}

std::string PipelineBuilder::StoreKey(size_t node) const {
  const std::string text =
      fmt::format("{} {}\n{}", seed_, fingerprint_, plan::PrefixText(graph_, node));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string PipelineBuilder::StorePath(size_t node) const {
  if (const auto* cache = std::get_if<CacheSpec>(&graph_.nodes[node].stage.kind)) {
    return cache->where == CacheWhere::kDisk ? cache->path : "";
  }
  if (const auto* snapshot = std::get_if<SnapshotSpec>(&graph_.nodes[node].stage.kind)) {
    return snapshot->path + "/" + StoreKey(node) + ".elements";
  }
  return "";
}

// By its key, so that a later run with the same stores finds it, and no other.
std::string PipelineBuilder::NewStorePath(size_t node) const {
  std::string path = StorePath(node);
  if (stores_.empty() || path.empty()) return path;
  return stores_ + "/" + std::to_string(node) + "-" + StoreKey(node) + ".elements";
}

size_t PipelineBuilder::FindSealed() {
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

Result<StagePtr> PipelineBuilder::Build() {
  const size_t first = FindSealed();
  // What a store makes needless is named all the same: the reports show it as idle.
  for (size_t node = 0; node < first; ++node) {
    const StageSpec& stage = graph_.nodes[node].stage;
    Define({stage.name, KindWord(stage), 1, true, 0, plan::IsZipped(graph_.nodes[node])});
  }
  if (first > 0) {
    context_.ledger.Note("'" + graph_.nodes[first].stage.name +
                         "' reads what an earlier run stored in " + sealed_path_);
  }
  StagePtr last;
  for (size_t node = first; node < graph_.nodes.size(); ++node) {
    STALLSCOPE_ASSIGN_OR_RETURN(last, Make(node, std::move(last)));
  }
  last = MakeZip(std::move(last));
  for (const plan::MapPiece& map : graph_.device_maps) {
    device_maps_.push_back({Define({map.name, "map", 1, true, 0}).stage, map.name, map.ops});
  }
  return last;
}

Result<StagePtr> PipelineBuilder::Make(size_t node, StagePtr input) {
  const plan::Node& made = graph_.nodes[node];
  if (std::holds_alternative<SourceSpec>(made.stage.kind))
    return MakeSource(node, std::move(input));
  input = MakeZip(std::move(input));
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
  if (std::holds_alternative<BucketByLengthSpec>(made.stage.kind)) {
    return MakeBucketByLength(made, std::move(input));
  }
  if (const auto* shard = std::get_if<ShardSpec>(&made.stage.kind)) {
    Define(made);
    return StagePtr(std::make_unique<ShardStage>(std::move(input), *shard, context_));
  }
  if (const auto* repeat = std::get_if<RepeatSpec>(&made.stage.kind)) {
    Define(made);
    return StagePtr(std::make_unique<RepeatStage>(std::move(input), *repeat, context_));
  }
  return MakeStore(node, std::move(input));
}

void PipelineBuilder::EndInput(StagePtr input) {
  zipped_.push_back({std::move(input), input_name_, last_.empty() ? StageId() : last_.back()});
}

StagePtr PipelineBuilder::MakeZip(StagePtr input) {
  if (zipped_.empty()) return input;
  EndInput(std::move(input));
  return std::make_unique<ZipStage>(std::exchange(zipped_, {}), context_);
}

Result<StagePtr> PipelineBuilder::MakeSource(size_t node, StagePtr input) {
  if (plan::IsZipped(graph_.nodes[node])) EndInput(std::move(input));
  StagePtr source = MakeOneSource(graph_.nodes[node], sources_[node]);
  if (input == nullptr) {
    input_name_ = graph_.nodes[node].stage.name;
    return source;
  }
  return StagePtr(
      std::make_unique<ConcatenateStage>(std::move(input), std::move(source), context_));
}

StagePtr PipelineBuilder::MakeOneSource(const plan::Node& node,
                                        const std::shared_ptr<ReaderShared>& shared) {
  SourceSpec& source = shared->spec;
  const std::string& name = node.stage.name;
  const size_t files = shared->files.paths.size();
  if (source.cycle_length.automatic) {
    source.cycle_length = {plan::AutoCycle(static_cast<int64_t>(files), cores_), false};
    context_.ledger.Note("auto set " + name + ".cycle_length to " +
                         std::to_string(source.cycle_length.value));
  }
  const plan::Node settled{{name, source}, {}, false};
  const Names names = Define(plan::StagesOf(settled).back(), files);
  if (files == 0) {
    auto runner = std::make_unique<SyntheticRunner>(source, names.stage, context_);
    auto counting = std::make_unique<CountingSource>(static_cast<uint64_t>(source.elements),
                                                     shared->first_file, context_);
    return MakeWorkers(settled, name, names, std::move(counting), std::move(runner));
  }
  if (!plan::ThreadsOf(settled).own) {
    return std::make_unique<InlineSource>(shared, SourceOptions{name, names.stage, names.queue});
  }
  auto stage =
      std::make_unique<ParallelSource>(shared, SourceOptions{name, names.stage, names.queue});
  if (source.parallelism.automatic) {
    ParallelSource* const tuned = stage.get();
    tunables_.push_back({name + ".parallelism", 1,
                         std::min<int64_t>(plan::MostWorkers(cores_), source.cycle_length.value),
                         false, [tuned](int64_t value) { tuned->SetParallelism(value); },
                         [tuned] { return tuned->load(); }});
  }
  return stage;
}

StagePtr PipelineBuilder::MakeWorkers(const plan::Node& node, const std::string& name, Names names,
                                      StagePtr input, std::unique_ptr<const Runner> runner) {
  const plan::Threads threads = plan::ThreadsOf(node);
  if (!threads.own) {
    return std::make_unique<InlineStage>(std::move(input), std::move(runner), context_);
  }
  const Knob& parallelism = threads.workers;
  WorkerOptions options;
  options.name = name;
  options.stage = names.stage;
  options.queue = names.queue;
  options.input_lock = DefineInputLock(name);
  options.parallelism = parallelism.value;
  options.queue_limit = static_cast<uint64_t>(threads.capacity.value);
  options.queue_most =
      static_cast<uint64_t>(parallelism.automatic ? plan::MostWorkers(cores_) : parallelism.value);
  options.ordered = threads.ordered;
  auto stage = std::make_unique<WorkerStage>(std::move(input), std::move(runner),
                                             std::move(options), context_);
  if (parallelism.automatic) {
    WorkerStage* const tuned = stage.get();
    tunables_.push_back(
        {name + ".parallelism", parallelism.value, plan::MostWorkers(cores_), false,
         [tuned](int64_t value) {
           tuned->SetQueueLimit(static_cast<uint64_t>(value));
           tuned->SetParallelism(value);
         },
         [tuned] {
           return TunerLoad{tuned->busy_ticks(), tuned->times_empty(), tuned->times_full()};
         }});
  }
  return stage;
}

Result<std::vector<MapPart>> PipelineBuilder::MakeParts(const plan::Node& node,
                                                        const std::vector<Names>& names) {
  std::vector<MapPart> parts;
  for (size_t i = 0; i < node.pieces.size(); ++i) {
    MapPart part;
    part.stage = names[i].stage;
    part.name = node.pieces[i].name;
    part.input = node.pieces[i].input;
    STALLSCOPE_ASSIGN_OR_RETURN(part.ops,
                                MakeOps(node.pieces[i].ops, graph_.source(part.input).features));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<StagePtr> PipelineBuilder::MakeMap(const plan::Node& node, StagePtr input) {
  const std::vector<Names> names = Define(node);
  STALLSCOPE_ASSIGN_OR_RETURN(std::vector<MapPart> parts, MakeParts(node, names));
  auto runner = std::make_unique<MapRunner>(std::move(parts), context_);
  return MakeWorkers(node, node.pieces.back().name, names.back(), std::move(input),
                     std::move(runner));
}

Result<StagePtr> PipelineBuilder::MakeBatch(const plan::Node& node, StagePtr input) {
  const auto& batch = std::get<BatchSpec>(node.stage.kind);
  const std::vector<Names> names = Define(node);
  STALLSCOPE_ASSIGN_OR_RETURN(std::vector<MapPart> parts, MakeParts(node, names));
  BatchOptions options{names.back().stage,   node.stage.name, batch.size,
                       batch.drop_remainder, batch.pad,       {}};
  if (batch.pad && context_.recorder != nullptr) {
    options.padding = context_.recorder->DefineCounter(kPaddingCounter, "");
  }
  auto runner = std::make_unique<BatchRunner>(std::move(options), std::move(parts), context_);
  return MakeWorkers(node, node.stage.name, names.back(), std::move(input), std::move(runner));
}

StagePtr PipelineBuilder::MakePrefetch(const plan::Node& node, StagePtr input) {
  const plan::Threads threads = plan::ThreadsOf(node);
  const Knob& buffer = threads.capacity;
  const Names names = Define(node).back();
  if (!threads.own) return input;
  WorkerOptions options;
  options.name = node.stage.name;
  options.stage = names.stage;
  options.queue = names.queue;
  options.input_lock = DefineInputLock(node.stage.name);
  options.queue_limit = static_cast<uint64_t>(buffer.value);
  options.queue_most = static_cast<uint64_t>(buffer.automatic ? plan::kMostBuffer : buffer.value);
  auto stage = std::make_unique<WorkerStage>(std::move(input), std::make_unique<IdentityRunner>(),
                                             std::move(options), context_);
  if (buffer.automatic) {
    WorkerStage* const tuned = stage.get();
    tunables_.push_back(
        {node.stage.name + ".buffer_size", buffer.value, plan::kMostBuffer, true,
         [tuned](int64_t value) { tuned->SetQueueLimit(static_cast<uint64_t>(value)); },
         [tuned] {
           return TunerLoad{0, tuned->times_empty(), tuned->times_full()};
         }});
  }
  return stage;
}

StagePtr PipelineBuilder::MakeShuffle(const plan::Node& node, StagePtr input) {
  const auto& shuffle = std::get<ShuffleSpec>(node.stage.kind);
  const Names names = Define(node).back();
  return std::make_unique<ShuffleStage>(std::move(input), shuffle, plan::Salt(node.stage.name, 0),
                                        names.queue, context_);
}

StagePtr PipelineBuilder::MakeBucketByLength(const plan::Node& node, StagePtr input) {
  Define(node);
  size_t size = 1;
  for (const plan::Node& other : graph_.nodes) {
    if (const auto* batch = plan::As<BatchSpec>(other)) size = static_cast<size_t>(batch->size);
  }
  return std::make_unique<BucketByLengthStage>(
      std::move(input), std::get<BucketByLengthSpec>(node.stage.kind), size, context_);
}

Result<StagePtr> PipelineBuilder::MakeFilter(const plan::Node& node, StagePtr input) {
  const auto& filter = std::get<FilterSpec>(node.stage.kind);
  STALLSCOPE_ASSIGN_OR_RETURN(OpCall call, ParseOp(filter.op));
  STALLSCOPE_ASSIGN_OR_RETURN(
      auto predicate,
      MakePredicate({std::move(call), plan::Salt(node.stage.name, 0)}, graph_.source().features));
  const Names names = Define(node).back();
  return StagePtr(
      std::make_unique<FilterStage>(std::move(input), std::move(predicate), names.stage, context_));
}

Result<StagePtr> PipelineBuilder::MakeStore(size_t node, StagePtr input) {
  const StageSpec& stage = graph_.nodes[node].stage;
  CacheOptions options;
  options.name = stage.name;
  options.stage = Define(graph_.nodes[node]).back().stage;
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
