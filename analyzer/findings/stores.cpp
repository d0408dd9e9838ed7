#include "analyzer/findings/stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/spec/op_times.h"

namespace stallscope::findings {
namespace {

bool MayLieInStore(const StageSpec& stage) {
  const auto* map = As<MapSpec>(stage);
  if (map != nullptr) return map->on == MapOn::kHost && !IsRandom(*map);
  const auto* filter = As<FilterSpec>(stage);
  if (filter != nullptr) {
    Result<OpCall> op = ParseOp(filter->op);
    return op.ok() && !op.value().op->random;
  }
  return As<SourceSpec>(stage) != nullptr || As<ShardSpec>(stage) != nullptr ||
         As<PrefetchSpec>(stage) != nullptr;
}

bool MovesBehindStore(const StageSpec& stage) {
  return As<ShuffleSpec>(stage) != nullptr || As<RepeatSpec>(stage) != nullptr;
}

bool HasStore(const Spec& spec) {
  return FirstOf<CacheSpec>(spec) < spec.stages.size() ||
         FirstOf<SnapshotSpec>(spec) < spec.stages.size();
}

// The ops of the prefix that `map`, stage `i`, does.
std::vector<OpCall> OpsOfPrefix(const StablePrefix& prefix, size_t i, const MapSpec& map) {
  std::vector<OpCall> ops = OpsOf(map);
  if (i == prefix.last && !prefix.whole) ops.resize(prefix.ops);
  return ops;
}

// By the usual size of a picture with so many bytes; exact behind an op that makes all of one size.
double UsualBytes(const Case& c, const StablePrefix& prefix) {
  SampleForm form{.file_bytes = BytesOfElement(c)};
  if (form.file_bytes <= 0) return 0;
  for (size_t i = 0; i <= prefix.last; ++i) {
    const auto* map = As<MapSpec>(c.spec->stages[i]);
    if (map == nullptr) continue;
    if (!UsualTimesOf(OpsOfPrefix(prefix, i, *map), false, form).has_value()) return 0;
  }
  return form.bytes();
}

// What a store after the prefix would keep per element; 0: unknown. Later ops may crop it or widen
// it, so the batch's bytes are a last resort.
double StoredBytes(const Case& c, const StablePrefix& prefix) {
  bool decoded = false;
  bool sized = false;
  for (size_t i = 0; i <= prefix.last; ++i) {
    const auto* map = As<MapSpec>(c.spec->stages[i]);
    if (map == nullptr) continue;
    for (const OpCall& op : OpsOfPrefix(prefix, i, *map)) {
      decoded = decoded || IsDecode(op);
      sized = sized || MakesOneSize(op);
    }
  }
  if (!decoded) return BytesOfElement(c);
  if (!sized) return 0;
  const double bytes = UsualBytes(c, prefix);
  return bytes > 0 ? bytes : BytesOfSample(c);
}

struct TypicalCost {
  std::string_view op;
  double us;
};

// Measured on one core of 3 GHz, in the reference pipeline.
constexpr std::array kTypical = {
    TypicalCost{"decode_jpeg", 850},  TypicalCost{"decode_png", 2'000},
    TypicalCost{"decode_csv", 5},     TypicalCost{"parse_example", 1},
    TypicalCost{"resize", 100},       TypicalCost{"random_resized_crop", 110},
    TypicalCost{"crop", 10},          TypicalCost{"flip", 10},
    TypicalCost{"color_jitter", 200}, TypicalCost{"normalize", 60},
    TypicalCost{"scale", 60},         TypicalCost{"cast", 30},
    TypicalCost{"one_hot", 1}};

double CostOf(const OpCall& op) {
  if (op.name() == "busy" || op.name() == "sleep") {
    return op.Number("us") / static_cast<double>(std::max<int64_t>(op.Integer("every"), 1));
  }
  const auto* known =
      std::find_if(kTypical.begin(), kTypical.end(),
                   [&](const TypicalCost& typical) { return typical.op == op.name(); });
  return known == kTypical.end() ? 0 : known->us;
}

}  // namespace

StablePrefix StablePrefixOf(const Spec& spec) {
  StablePrefix prefix;
  std::vector<std::string> passed;
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    if (MovesBehindStore(stage)) {
      passed.push_back(stage.name);
      continue;
    }
    const auto* map = As<MapSpec>(stage);
    if (MayLieInStore(stage)) {
      // Behind a shuffle only work is worth moving it for.
      if (passed.empty() || map != nullptr) {
        prefix = {i, 0, true, prefix.maps || map != nullptr, passed};
      }
      continue;
    }
    if (map == nullptr || map->on == MapOn::kDevice) break;
    const std::vector<OpCall> ops = OpsOf(*map);
    size_t stable = 0;
    while (stable < ops.size() && !ops[stable].op->random) ++stable;
    if (stable > 0) prefix = {i, stable, false, true, passed};
    break;
  }
  return prefix;
}

Patch StoreBehind(const Spec& spec, const StablePrefix& prefix, StageSpec store) {
  const StageSpec& last = spec.stages[prefix.last];
  const std::string name = store.name;
  Patch patch;
  if (prefix.whole) {
    patch.changes.emplace_back(InsertChange{std::move(store), Place::After(last.name)});
  } else {
    const auto& map = std::get<MapSpec>(last.kind);
    const std::vector<OpCall> ops = OpsOf(map);
    MapSpec rest = map;
    rest.ops = Texts(ops, prefix.ops, ops.size());
    const std::string rest_name = FreshName(spec, last.name + "_random");
    patch.changes.emplace_back(SetOps(last.name, Texts(ops, 0, prefix.ops)));
    patch.changes.emplace_back(InsertChange{std::move(store), Place::After(last.name)});
    patch.changes.emplace_back(InsertChange{{rest_name, std::move(rest)}, Place::After(name)});
  }
  // The last one first: each goes directly behind the store.
  for (size_t i = prefix.behind.size(); i-- > 0;) {
    patch.changes.emplace_back(MoveChange{prefix.behind[i], Place::After(name)});
  }
  return patch;
}

std::optional<StoreCase> StoreCaseOf(const Case& c) {
  if (!c.spec.has_value() || HasStore(*c.spec)) return std::nullopt;
  if (!Worth(c, Category::kInputStall)) return std::nullopt;
  StoreCase store;
  store.prefix = StablePrefixOf(*c.spec);
  for (size_t i = 0; i <= store.prefix.last; ++i) {
    const double share = SharedOut(c, store.prefix, i);
    if (share <= 0) continue;
    const StageSpec& stage = c.spec->stages[i];
    store.names += (store.names.empty() ? "" : ", ") + stage.name;
    if (i == store.prefix.last && !store.prefix.whole) {
      store.estimated = true;
      store.names += " (" + Joined(OpsOf(*As<MapSpec>(stage)), 0, store.prefix.ops) + ")";
    }
    store.share += share;
  }
  if (store.share < kModerateShare) return std::nullopt;
  store.element_bytes = StoredBytes(c, store.prefix);
  if (store.element_bytes <= 0) store.usual_bytes = UsualBytes(c, store.prefix);
  store.elements = ElementsOfEpoch(c);
  return store;
}

double SharedOut(const Case& c, const StablePrefix& prefix, size_t stage) {
  const StageSpec& spec = c.spec->stages[stage];
  const double share = BlamedForWork(c, StageNamed(c, spec.name));
  if (stage != prefix.last || prefix.whole) return share;
  return share * (1 - ShareFrom(OpsOf(*As<MapSpec>(spec)), prefix.ops));
}

std::optional<double> FirstEpoch(const Case& c, const StoreCase& store) {
  double samples = 0;
  for (const auto& step : c.attribution.steps) samples += step.samples;
  const auto epoch = static_cast<double>(store.elements);
  if (epoch <= 0 || epoch >= samples) return std::nullopt;
  return epoch / samples;
}

int64_t RoomFor(double bytes) {
  constexpr double kWhole = 1'000'000;
  return static_cast<int64_t>(std::ceil(kCacheHeadroom * bytes / kWhole) * kWhole);
}

bool ReadFromDisk(const Case& c, double bytes) {
  const auto free = static_cast<double>(FreeMemory(c));
  return free > 0 && bytes > kCacheableMemory * free;
}

std::string ShareText(double share, bool estimated) {
  return estimated ? fmt::format("about {:.0f}%", 100 * share) : Percent(share);
}

Effect Stored(const Case& c, const StoreCase& store, Assumed left, double late) {
  std::vector<StageId> spared;
  for (size_t i = 0; i <= store.prefix.last; ++i) {
    spared.push_back(StageNamed(c, c.spec->stages[i].name));
  }
  double behind = 0;  // the split map's share
  if (!store.prefix.whole) {
    behind = ShareFrom(OpsOf(*As<MapSpec>(c.spec->stages[store.prefix.last])), store.prefix.ops);
  }
  return {[spared, behind](Load& load, double size) {
            for (size_t i = 0; i < spared.size(); ++i) {
              StageDemand* stage = load.Find(spared[i]);
              if (stage == nullptr) continue;
              const double kept = i == 0 ? size : i + 1 == spared.size() ? behind : 0;
              stage->service_s *= kept;
              stage->cpu_s *= kept;
            }
          },
          left, late};
}

double ShareFrom(const std::vector<OpCall>& ops, size_t from) {
  double all = 0;
  double behind = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const double cost = CostOf(ops[i]);
    all += cost;
    if (i >= from) behind += cost;
  }
  return all > 0 ? behind / all : 0;
}

}  // namespace stallscope::findings
