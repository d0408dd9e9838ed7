#include "replay/workload/workload.h"

#include <algorithm>

#include "replay/workload/job_costs.h"
#include "replay/workload/op_change.h"

namespace stallscope::replay {
namespace {

// A thread with its stack and the tables of its decoder.
constexpr double kWorkerBytes = 1 << 20;

bool Decodes(const plan::Node& node) {
  for (const plan::MapPiece& piece : node.pieces) {
    for (const plan::OpInstance& op : piece.ops) {
      if (op.call.name().starts_with("decode_")) return true;
    }
  }
  return false;
}

// Of a sample in a batch, on the host.
double SampleBytes(const Workload& workload) {
  const double changed = workload.ops != nullptr ? workload.ops->batch_bytes : 1;
  return workload.recorded->trainer.host_sample_bytes * changed;
}

}  // namespace

uint64_t Workload::steps() const {
  const int64_t asked = recorded->job != nullptr ? spec.job.steps : spec.trainer.steps;
  return asked > 0 ? static_cast<uint64_t>(asked) : recorded->steps;
}

uint64_t BatchSize(const Spec& spec) {
  for (const StageSpec& stage : spec.stages) {
    const auto* batch = std::get_if<BatchSpec>(&stage.kind);
    if (batch != nullptr) return static_cast<uint64_t>(batch->size);
  }
  return 1;
}

double SamplesOfStep(const Workload& workload) {
  const Recorded& recorded = *workload.recorded;
  if (recorded.job == nullptr) return static_cast<double>(BatchSize(workload.spec));
  const LoaderSpec* const now = FirstLoader(workload.spec);
  const int64_t before = recorded.job->loader.batch_size;
  if (now == nullptr || now->batch_size == 0 || before == 0) return recorded.trainer.batch;
  return recorded.trainer.batch * static_cast<double>(now->batch_size) /
         static_cast<double>(before);
}

double ItemBytes(const Workload& workload, const plan::Graph& graph, size_t node) {
  const Recorded& recorded = *workload.recorded;
  for (size_t i = 0; i <= node; ++i) {
    if (Decodes(graph.nodes[i])) return SampleBytes(workload);
  }
  const SourceSpec& source = graph.source();
  if (source.files.empty() && !recorded.made_up_spec) return static_cast<double>(source.bytes);
  const auto found = recorded.stages.find(graph.nodes.front().stage.name);
  return found == recorded.stages.end() ? 0 : found->second.bytes;
}

uint64_t HeldBytes(const Workload& workload) {
  const auto lowered = plan::Lower(workload.spec);
  if (!lowered.ok()) return 0;
  const plan::Graph& graph = lowered.value();
  double batch = 1;
  double held = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const plan::Node& node = graph.nodes[i];
    const double item = ItemBytes(workload, graph, i);
    if (const auto* made = plan::As<BatchSpec>(node)) batch = static_cast<double>(made->size);
    const plan::Threads threads = plan::ThreadsOf(node);
    const auto workers = static_cast<double>(threads.workers.value);
    if (workers > 1) held += workers * (2 * item * batch + kWorkerBytes);
    const auto capacity = static_cast<double>(threads.capacity.value);
    if (plan::As<PrefetchSpec>(node) != nullptr) {
      held += (capacity + 1) * item * batch;
    } else if (plan::As<ShuffleSpec>(node) != nullptr) {
      const double most = static_cast<double>(
          workload.recorded->elements_per_epoch.value_or(static_cast<uint64_t>(1) << 62));
      held += std::min(capacity, most) * item * batch;
    } else if (const auto* cache = plan::As<CacheSpec>(node)) {
      const uint64_t elements = workload.recorded->elements_per_epoch.value_or(0);
      if (cache->where == CacheWhere::kMemory) held += static_cast<double>(elements) * item;
    }
  }
  const TransferSpec& transfer = workload.spec.transfer;
  const double flying =
      static_cast<double>(transfer.prefetch_to_device) + (transfer.overlap ? 2 : 1);
  held += flying * batch * SampleBytes(workload);
  return static_cast<uint64_t>(held);
}

}  // namespace stallscope::replay
