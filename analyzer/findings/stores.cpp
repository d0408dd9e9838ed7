#include "analyzer/findings/stores.h"

#include "analyzer/findings/facts.h"
#include "analyzer/findings/op_cost.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

bool HasStore(const Spec& spec) {
  return FirstOf<CacheSpec>(spec) < spec.stages.size() ||
         FirstOf<SnapshotSpec>(spec) < spec.stages.size();
}

// What a store behind the prefix would keep of an element. A decoded picture's size is known where
// it was brought to the batch's; ops behind may have made it wider since, so that this is the most.
double StoredBytes(const Case& c, const StablePrefix& prefix) {
  bool decoded = false;
  bool sized = false;
  for (size_t i = 0; i <= prefix.last; ++i) {
    const auto* map = As<MapSpec>(c.spec->stages[i]);
    if (map == nullptr) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    const size_t count = i == prefix.last && !prefix.whole ? prefix.ops : ops.size();
    for (size_t op = 0; op < count; ++op) {
      decoded = decoded || IsDecode(ops[op]);
      sized = sized || MakesOneSize(ops[op]);
    }
  }
  if (!decoded) return BytesOfElement(c);
  return sized ? BytesOfSample(c) : 0;
}

}  // namespace

std::optional<StoreCase> StoreCaseOf(const Case& c) {
  if (!c.spec.has_value() || HasStore(*c.spec)) return std::nullopt;
  if (!Worth(c, attribution::Category::kInputStall)) return std::nullopt;
  StoreCase store;
  store.prefix = StablePrefixOf(*c.spec);
  for (size_t i = 0; i <= store.prefix.last; ++i) {
    const StageId id = StageNamed(c, c.spec->stages[i].name);
    const double share = BlamedForWork(c, id);
    if (share > 0) store.names += (store.names.empty() ? "" : ", ") + NameOf(c, id);
    store.share += share;
  }
  if (store.share < kModerateShare) return std::nullopt;
  store.element_bytes = StoredBytes(c, store.prefix);
  store.elements = ElementsOfEpoch(c);
  return store;
}

Effect Stored(const Case& c, const StoreCase& store, std::array<double, 3> left, double late) {
  std::vector<StageId> spared;
  for (size_t i = 0; i <= store.prefix.last; ++i) {
    spared.push_back(StageNamed(c, c.spec->stages[i].name));
  }
  double behind = 0;  // of a map that is split
  if (!store.prefix.whole) {
    behind = ShareFrom(OpsOf(*As<MapSpec>(c.spec->stages[store.prefix.last])), store.prefix.ops);
  }
  return {[spared, behind](Load& load, double size) {
            for (size_t i = 0; i < spared.size(); ++i) {
              StageLoad* stage = load.Find(spared[i]);
              if (stage == nullptr) continue;
              const double kept = i == 0 ? size : i + 1 == spared.size() ? behind : 0;
              stage->service_s *= kept;
              stage->cpu_s *= kept;
            }
          },
          left, late};
}

}  // namespace stallscope::findings
