#include "replay/sweep/same_data.h"

#include <map>
#include <utility>
#include <vector>

#include "analyzer/spec/ops.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::replay {
namespace {

// Takes the knobs of speed out of a pipeline, stage by stage.
class Neutral {
 public:
  bool ordered() const { return ordered_; }

  // Nothing where the stage itself is one of speed only.
  std::optional<StageSpec> Of(StageSpec stage) {
    if (auto* source = std::get_if<SourceSpec>(&stage.kind)) Plain(*source);
    if (auto* map = std::get_if<MapSpec>(&stage.kind)) {
      ordered_ = ordered_ && map->deterministic;
      frozen_by_store_ = frozen_by_store_ || IsRandom(*map);
      map->parallelism = {};
    }
    if (auto* batch = std::get_if<BatchSpec>(&stage.kind)) batch->parallelism = {};
    if (std::holds_alternative<PrefetchSpec>(stage.kind)) return std::nullopt;
    if (std::holds_alternative<ShuffleSpec>(stage.kind)) frozen_by_store_ = true;
    if (auto* cache = std::get_if<CacheSpec>(&stage.kind)) {
      if (!frozen_by_store_) return std::nullopt;
      *cache = {};
    }
    if (std::holds_alternative<SnapshotSpec>(stage.kind) && !frozen_by_store_) return std::nullopt;
    return stage;
  }

 private:
  void Plain(SourceSpec& source) {
    ordered_ = ordered_ && source.deterministic;
    source.parallelism = {};
    source.throttle_bytes_per_s = 0;
    source.sleep_us = 0;
    source.busy_us = 0;
  }

  bool ordered_ = true;
  // A store behind it gives the same draws in every epoch, where without it each has its own.
  bool frozen_by_store_ = false;
};

}  // namespace

std::optional<std::string> DataKey(const Spec& spec, uint64_t steps) {
  if (IsJob(spec)) return std::nullopt;  // its workers draw random numbers of their own
  Spec plain = spec;
  plain.name.clear();
  plain.rewrites = {};
  plain.budget = {};
  plain.transfer = {};
  plain.transfer.dtype = spec.transfer.dtype;
  plain.trainer = {};
  plain.trainer.strategy = spec.trainer.strategy;
  plain.trainer.steps = static_cast<int64_t>(steps);
  plain.stages.clear();
  Neutral neutral;
  for (const StageSpec& stage : spec.stages) {
    if (auto kept = neutral.Of(stage)) plain.stages.push_back(std::move(*kept));
  }
  const bool to_the_end =
      spec.trainer.steps == 0 || steps < static_cast<uint64_t>(spec.trainer.steps);
  if (!neutral.ordered() && !to_the_end) return std::nullopt;
  return WriteSpec(plain, JsonLayout::kOneLine);
}

void CheckDigests(const Spec& spec, Sweep& sweep) {
  struct Seen {
    std::string digest;
    std::string name;
  };
  std::map<std::string, Seen> seen;
  const auto check = [&](Point& point) {
    if (point.digest.empty() || point.runs.empty()) return;
    const auto changed = SpecOf(spec, point);
    if (!changed.ok()) return;
    const auto key = DataKey(changed.value(), point.runs.front().steps);
    if (!key.has_value()) return;
    const auto [first, is_first] = seen.try_emplace(*key, Seen{point.digest, NameOf(point)});
    if (is_first || first->second.digest == point.digest || !point.error.empty()) return;
    point.error = "its batches differ from those of '" + first->second.name +
                  "', although no changed setting may affect the data";
  };
  if (!sweep.base_point.has_value()) check(sweep.base);
  for (Point& point : sweep.points) check(point);
}

}  // namespace stallscope::replay
