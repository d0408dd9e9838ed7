#include "replay/workload/workload.h"

#include <algorithm>

#include "analyzer/spec/ops.h"

namespace stallscope::replay {
namespace {

// A thread with its stack and the tables of its decoder.
constexpr double kWorkerBytes = 1 << 20;

template <class Kind>
const Kind* As(const StageSpec& stage) {
  return std::get_if<Kind>(&stage.kind);
}

bool Decodes(const MapSpec& map) {
  return std::any_of(map.ops.begin(), map.ops.end(),
                     [](const std::string& op) { return op.rfind("decode_", 0) == 0; });
}

double Workers(const Knob& knob) { return static_cast<double>(knob.value); }

}  // namespace

uint64_t Workload::steps() const {
  const int64_t asked = spec.trainer.steps;
  return asked > 0 ? static_cast<uint64_t>(asked) : recorded->steps;
}

uint64_t BatchSize(const Spec& spec) {
  for (const StageSpec& stage : spec.stages) {
    if (const auto* batch = As<BatchSpec>(stage)) return static_cast<uint64_t>(batch->size);
  }
  return 1;
}

double ItemBytes(const Workload& workload, size_t stage) {
  const Recorded& recorded = *workload.recorded;
  const auto& stages = workload.spec.stages;
  const auto* source = As<SourceSpec>(stages.front());
  const bool made_up = source != nullptr && source->files.empty();
  bool decoded = false;
  for (size_t i = 0; i <= stage && i < stages.size(); ++i) {
    const auto* map = As<MapSpec>(stages[i]);
    decoded = decoded || (map != nullptr && Decodes(*map));
  }
  if (decoded) return recorded.trainer.host_sample_bytes;
  if (made_up && !recorded.made_up_spec) return static_cast<double>(source->bytes);
  const auto found = recorded.stages.find(stages.front().name);
  return found == recorded.stages.end() ? 0 : found->second.bytes;
}

uint64_t HeldBytes(const Workload& workload) {
  const Spec& spec = workload.spec;
  double batch = 1;
  double held = 0;
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    const double item = ItemBytes(workload, i);
    const auto threads = [&](const Knob& knob, double bytes) {
      const double workers = Workers(knob);
      if (workers > 1) held += workers * (2 * bytes + kWorkerBytes);
    };
    if (const auto* source = As<SourceSpec>(stage)) {
      threads(source->parallelism, item);
    } else if (const auto* map = As<MapSpec>(stage)) {
      if (map->on == MapOn::kHost) threads(map->parallelism, item * batch);
    } else if (const auto* made = As<BatchSpec>(stage)) {
      batch = static_cast<double>(made->size);
      threads(made->parallelism, item * batch);
    } else if (const auto* prefetch = As<PrefetchSpec>(stage)) {
      held += (static_cast<double>(prefetch->buffer_size.value) + 1) * item * batch;
    } else if (const auto* shuffle = As<ShuffleSpec>(stage)) {
      const double most = static_cast<double>(
          workload.recorded->elements_per_epoch.value_or(static_cast<uint64_t>(1) << 62));
      held += std::min(static_cast<double>(shuffle->buffer_size), most) * item * batch;
    } else if (const auto* cache = As<CacheSpec>(stage)) {
      const uint64_t elements = workload.recorded->elements_per_epoch.value_or(0);
      if (cache->where == CacheWhere::kMemory) held += static_cast<double>(elements) * item;
    }
  }
  const double flying =
      static_cast<double>(spec.transfer.prefetch_to_device) + (spec.transfer.overlap ? 2 : 1);
  held += flying * batch * workload.recorded->trainer.host_sample_bytes;
  return static_cast<uint64_t>(held);
}

}  // namespace stallscope::replay
