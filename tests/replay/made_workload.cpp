#include "tests/replay/made_workload.h"

#include <utility>

namespace stallscope::test {

StageSpec Map(const std::string& name, int64_t parallelism, bool ordered) {
  MapSpec map;
  map.ops = {"busy(1)"};
  map.parallelism.value = parallelism;
  map.deterministic = ordered;
  return {name, map};
}

StageSpec Batch(int64_t size, int64_t parallelism) {
  BatchSpec batch;
  batch.size = size;
  batch.parallelism.value = parallelism;
  return {"batch", batch};
}

StageSpec Prefetch(int64_t buffer_size) {
  PrefetchSpec prefetch;
  prefetch.buffer_size.value = buffer_size;
  return {"prefetch", prefetch};
}

MadeWorkload::MadeWorkload(std::vector<StageSpec> stages, double compute_us, double cores)
    : recorded_(std::make_shared<replay::Recorded>()) {
  SourceSpec source;
  source.format = SourceFormat::kSynthetic;
  source.elements = 1'000'000'000;
  Spec& made = recorded_->spec;
  made.name = "made";
  made.stages = std::move(stages);
  made.stages.insert(made.stages.begin(), StageSpec{"read", source});
  made.transfer.pinned = true;
  made.transfer.overlap = true;
  made.trainer.device = TrainerDevice::kEmulated;
  made.trainer.graph = GraphMode::kCaptured;
  made.trainer.emulated.compute_us_per_batch = compute_us;
  made.trainer.emulated.h2d_latency_us = 0;
  recorded_->cores = cores;
  recorded_->steps = static_cast<uint64_t>(made.trainer.steps);
  recorded_->samples_per_s = 1;
  recorded_->trainer.batch = static_cast<double>(replay::BatchSize(made));
  recorded_->trainer.launches = 1;
  recorded_->trainer.kernels = 1;
  for (const StageSpec& stage : made.stages) recorded_->stages[stage.name].handover_ns = 1;
}

MadeWorkload& MadeWorkload::Costs(const std::string& stage, double cpu_us, double blocked_us) {
  replay::Cost cost;
  cost.cpu_ns = static_cast<float>(cpu_us * 1e3);
  cost.blocked_ns = static_cast<float>(blocked_us * 1e3);
  return Items(stage, {cost});
}

MadeWorkload& MadeWorkload::Items(const std::string& stage, std::vector<replay::Cost> items) {
  replay::StageCosts& costs = recorded_->stages[stage];
  costs.items = std::move(items);
  costs.mean_cpu_ns = costs.mean_blocked_ns = 0;
  for (const replay::Cost& item : costs.items) {
    costs.mean_cpu_ns += static_cast<double>(item.cpu_ns);
    costs.mean_blocked_ns += static_cast<double>(item.blocked_ns);
  }
  costs.mean_cpu_ns /= static_cast<double>(costs.items.size());
  costs.mean_blocked_ns /= static_cast<double>(costs.items.size());
  return *this;
}

replay::Workload MadeWorkload::Make() const {
  replay::Workload workload;
  workload.spec = recorded_->spec;
  workload.recorded = recorded_;
  return workload;
}

}  // namespace stallscope::test
