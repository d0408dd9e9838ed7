// Row 8: the cache is placed before work that it could save.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::cache_place {
namespace {

// Directly after the cache, the same in every epoch.
size_t StableMapBehind(const Spec& spec, size_t cache) {
  for (size_t i = cache + 1; i < spec.stages.size(); ++i) {
    const auto* map = As<MapSpec>(spec.stages[i]);
    if (map != nullptr) {
      return !IsRandom(*map) && map->on == MapOn::kHost ? i : spec.stages.size();
    }
    // After a shuffle or a repeat the cache would freeze the order, or never fill.
    if (As<PrefetchSpec>(spec.stages[i]) == nullptr) break;
  }
  return spec.stages.size();
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || !Worth(c, Category::kInputStall)) return;
  const Spec& spec = *c.spec;
  const size_t cache = FirstOf<CacheSpec>(spec);
  if (cache >= spec.stages.size()) return;
  const size_t map = StableMapBehind(spec, cache);
  if (map >= spec.stages.size()) return;
  const StageId id = StageNamed(c, spec.stages[map].name);
  const double share = BlamedForWork(c, id);
  if (share < kModerateShare) return;
  const std::string& name = spec.stages[cache].name;
  Draft draft = About(c, id, share,
                      fmt::format("{} of step time is spent in {}, whose results are the same in "
                                  "every epoch, but {} is placed before it",
                                  Percent(share), spec.stages[map].name, name));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} of step time", spec.stages[map].name, Percent(share)));
  Patch patch;
  patch.changes.emplace_back(MoveChange{name, Place::After(spec.stages[map].name)});
  Recommend(draft,
            fmt::format("cache after {}; decoded elements take more memory", spec.stages[map].name),
            std::move(patch), WithTimeTimes(id, kLeftBehindCache));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "cache-place",
    .row = 8,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).cache())py",
    }};

}  // namespace stallscope::findings::cache_place
