#include "replay/rerun/fill.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <variant>

#include "collectors/capture/data_files.h"

namespace stallscope::replay {
namespace {

// A cache without a path disappears with its run.
bool Lasts(const StageSpec& stage) {
  if (const auto* cache = std::get_if<CacheSpec>(&stage.kind)) {
    return cache->where == CacheWhere::kDisk && !cache->path.empty();
  }
  return std::holds_alternative<SnapshotSpec>(stage.kind);
}

size_t LastOnDisk(const Spec& spec) {
  size_t last = spec.stages.size();
  while (last > 0 && !IsOnDisk(spec.stages[last - 1])) --last;
  return last;  // after it
}

// Drops elements right after reading them: one in `shards` remains.
void Shard(int64_t shards, Spec& spec) {
  if (shards < 2) return;
  spec.stages.insert(spec.stages.begin() + 1, {FreshName(spec, "part"), ShardSpec{shards, 0}});
}

}  // namespace

bool IsOnDisk(const StageSpec& stage) {
  const auto* const cache = std::get_if<CacheSpec>(&stage.kind);
  return cache != nullptr ? cache->where == CacheWhere::kDisk
                          : std::holds_alternative<SnapshotSpec>(stage.kind);
}

Filling FillingOf(const Spec& spec, const Rerun& rerun) {
  uint64_t samples = 1;  // of an element
  for (const StageSpec& stage : spec.stages) {
    if (const auto* batch = std::get_if<BatchSpec>(&stage.kind)) {
      samples = static_cast<uint64_t>(batch->size);
    }
    if (!Lasts(stage)) continue;
    const auto& stages = rerun.run.stages;
    const auto at = std::find_if(stages.begin(), stages.end(),
                                 [&](const auto& info) { return info.name == stage.name; });
    if (at == stages.end()) continue;
    Filling filling{stage.name, 0, 0};
    int64_t first_ns = std::numeric_limits<int64_t>::max();
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    for (const trace::CacheEvent& event : rerun.run.rows.cache_events) {
      if (event.stage != at->id || event.op != trace::CacheOp::kFill) continue;
      filling.samples += samples;
      first_ns = std::min(first_ns, event.time_ns);
      last_ns = std::max(last_ns, event.time_ns);
    }
    if (filling.samples == 0) continue;
    filling.seconds = static_cast<double>(last_ns - first_ns) / 1e9;
    return filling;
  }
  return {};
}

std::optional<Spec> FillSpec(const Spec& spec) {
  Spec fill = spec;
  const size_t last = LastOnDisk(fill);
  for (size_t i = 0; i < fill.stages.size(); ++i) {
    auto* const repeat = std::get_if<RepeatSpec>(&fill.stages[i].kind);
    if (repeat == nullptr) continue;
    if (i >= last) {
      repeat->count = 1;
    } else if (repeat->count == 0) {
      return std::nullopt;
    }
  }
  fill.trainer.steps = 0;
  return fill;
}

Result<Spec> WithPartOfTheData(const Spec& spec, int64_t elements, double per_file) {
  Spec part = spec;
  ++part.seed;  // its store must not be taken for that of a run over all the data
  auto* const source = std::get_if<SourceSpec>(&part.stages.front().kind);
  if (source == nullptr) return part;
  double left = std::numeric_limits<double>::infinity();
  if (source->files.empty()) {
    source->elements = std::min(source->elements, elements);
    left = static_cast<double>(source->elements);
  } else if (per_file > 0) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto data, capture::FindDataFiles(spec));
    const double wanted = std::ceil(static_cast<double>(elements) / per_file);
    const auto files = static_cast<size_t>(std::max(wanted, 1.0));
    if (files < data.paths.size()) data.paths.resize(files);
    left = per_file * static_cast<double>(data.paths.size());
    source->files = std::move(data.paths);
    const auto shards = static_cast<int64_t>(left / static_cast<double>(elements));
    Shard(shards, part);
    if (shards > 1) left /= static_cast<double>(shards);
  }
  if (!std::isfinite(left)) left = static_cast<double>(elements);
  double variants = 1;
  int64_t batch = 1;
  const size_t last = LastOnDisk(part);
  bool repeats = false;
  for (size_t i = 0; i < part.stages.size(); ++i) {
    if (const auto* repeat = std::get_if<RepeatSpec>(&part.stages[i].kind)) {
      repeats = repeats || i >= last;
      if (i < last && repeat->count > 0) variants *= static_cast<double>(repeat->count);
    }
    if (const auto* batched = std::get_if<BatchSpec>(&part.stages[i].kind)) batch = batched->size;
  }
  if (!repeats) {
    part.stages.insert(part.stages.begin() + static_cast<std::ptrdiff_t>(last),
                       {FreshName(part, "again"), RepeatSpec{3}});
  }
  const double passes = 3 * variants * left / static_cast<double>(batch);
  part.trainer.steps = std::max<int64_t>(static_cast<int64_t>(std::ceil(passes)), 1);
  return part;
}

}  // namespace stallscope::replay
