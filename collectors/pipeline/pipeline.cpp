#include "collectors/pipeline/pipeline.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "analyzer/base/thread.h"
#include "collectors/pipeline/builder.h"
#include "collectors/pipeline/digest.h"

namespace stallscope::pipeline {

// Destroyed from the last member to the first: tuner, stages, then what they share.
struct Pipeline::Parts {
  StageContext context;
  plan::Graph graph;
  std::vector<DeviceMap> device_maps;
  std::string graph_json;
  std::string fingerprint;
  std::optional<pipeline::Digest> digest;
  std::optional<Error> error;  // that ended it
  std::atomic<uint64_t> delivered{0};
  StagePtr last;
  std::unique_ptr<Tuner> tuner;
};

Pipeline::Pipeline(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Pipeline::~Pipeline() {
  parts_->tuner.reset();
  parts_->context.token.Cancel();
}

Result<std::unique_ptr<Pipeline>> Pipeline::Build(const Spec& spec,
                                                  const PipelineOptions& options) {
  return Guarded([&] { return BuildParts(spec, options); });
}

Result<std::unique_ptr<Pipeline>> Pipeline::BuildParts(const Spec& spec,
                                                       const PipelineOptions& options) {
  auto parts = std::make_unique<Parts>();
  STALLSCOPE_ASSIGN_OR_RETURN(parts->graph, plan::Lower(spec));
  parts->graph_json = plan::GraphJson(parts->graph);
  if (options.digest) parts->digest.emplace(parts->graph.ordered());
  StageContext& context = parts->context;
  context.seed = static_cast<uint64_t>(spec.seed);
  context.skip_errors = parts->graph.skip_errors;
  context.recorder = options.recorder;
  context.ranges = options.ranges;
  context.slow_down = options.slow_down;
  context.batches = std::make_unique<TensorPool>(options.batch_memory);
  STALLSCOPE_ASSIGN_OR_RETURN(std::vector<SourceFiles> files, FindFiles(spec));
  parts->fingerprint = FingerprintOf(files);
  const int64_t cores = plan::TunerCores(spec.budget, std::thread::hardware_concurrency());
  PipelineBuilder builder(parts->graph, std::move(files), context.seed, cores, options.stores,
                          context);
  STALLSCOPE_ASSIGN_OR_RETURN(parts->last, builder.Build());
  parts->device_maps = builder.TakeDeviceMaps();
  std::vector<Tunable> tunables = builder.TakeTunables();
  if (!tunables.empty()) {
    const TunerLimits limits{cores, static_cast<uint64_t>(spec.budget.memory_bytes)};
    parts->tuner = std::make_unique<Tuner>(
        std::move(tunables), limits, context,
        [&delivered = parts->delivered] { return delivered.load(std::memory_order_relaxed); });
  }
  if (auto failure = context.failure()) return *std::move(failure);
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(parts)));
}

Result<std::optional<Element>> Pipeline::Next() {
  if (parts_->error.has_value()) return *parts_->error;
  auto next = Guarded([&] { return parts_->last->Next(); });
  if (!next.ok()) {
    // Of a stage whose thread failed the others only see that it ended.
    parts_->error = parts_->context.failure().value_or(next.error());
    // The others need not go on working for nothing.
    parts_->context.token.Cancel();
    return *parts_->error;
  }
  if (next.value().has_value()) {
    parts_->delivered.fetch_add(static_cast<uint64_t>(next.value()->samples()),
                                std::memory_order_relaxed);
    if (parts_->digest.has_value()) parts_->digest->Add(*next.value());
  }
  return next;
}

void Pipeline::Recycle(Element&& batch) { parts_->context.Recycle(std::move(batch)); }

void Pipeline::Cancel() { parts_->context.token.Cancel(); }

const std::vector<DeviceMap>& Pipeline::device_maps() const { return parts_->device_maps; }

const std::string& Pipeline::graph_json() const { return parts_->graph_json; }

const std::string& Pipeline::data_fingerprint() const { return parts_->fingerprint; }

std::string Pipeline::Digest() const {
  return parts_->digest.has_value() ? parts_->digest->Hex() : "";
}

PipelineStats Pipeline::stats() const {
  const StageContext& context = parts_->context;
  PipelineStats stats;
  stats.elements = context.source_elements.load(std::memory_order_relaxed);
  stats.skipped = context.ledger.skipped();
  stats.skipped_bytes = context.ledger.skipped_bytes();
  stats.first_skipped = context.ledger.first_skipped();
  stats.notes = context.ledger.notes();
  if (parts_->tuner != nullptr) {
    for (std::string& note : parts_->tuner->Notes()) stats.notes.push_back(std::move(note));
  }
  return stats;
}

}  // namespace stallscope::pipeline
