// Row 8: the cache is placed before work that it could save.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/findings/stores.h"

namespace stallscope::findings::cache_place {
namespace {

struct StableMap {
  size_t stage = 0;
  std::vector<std::string> passed;  // the stages in between, which must move behind the cache
};

// The first map after the cache, if it is the same in every epoch. A cache after a shuffle or a
// repeat would freeze the order, or never fill, so these move along.
std::optional<StableMap> StableMapBehind(const Spec& spec, size_t cache) {
  StableMap found;
  for (size_t i = cache + 1; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    if (const auto* map = As<MapSpec>(stage); map != nullptr) {
      if (IsRandom(*map) || map->on != MapOn::kHost) return std::nullopt;
      found.stage = i;
      return found;
    }
    if (As<ShuffleSpec>(stage) != nullptr || As<RepeatSpec>(stage) != nullptr) {
      found.passed.push_back(stage.name);
    } else if (As<PrefetchSpec>(stage) == nullptr) {
      break;
    }
  }
  return std::nullopt;
}

// Size of the cache at that place; 0: unknown.
double BytesBehind(const Case& c, size_t map) {
  return OneSizeBefore(*c.spec, map + 1)
             ? static_cast<double>(ElementsOfEpoch(c)) * BytesOfSample(c)
             : 0;
}

Draft Misplaced(const Case& c, StageId map, std::string_view cache) {
  const double share = BlamedForWork(c, map);
  Draft draft = About(c, map, share,
                      fmt::format("{} of step time is spent in {}, whose results are the same in "
                                  "every epoch, but {} is placed before it",
                                  Percent(share), NameOf(c, map), cache));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} of step time", NameOf(c, map), Percent(share)));
  return draft;
}

std::string AfterIt(const Case& c, StageId map) {
  return fmt::format("cache after {}; decoded elements take more memory", NameOf(c, map));
}

void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t cache = FirstOf(c, pipeline, StageRole::kCache);
  size_t at = cache;
  while (at < pipeline.size()) {
    const StageRole role = RoleOf(c, pipeline[at]);
    const bool passes = role == StageRole::kCache || role == StageRole::kShuffle ||
                        role == StageRole::kRepeat || role == StageRole::kPrefetch;
    if (!passes) break;
    ++at;
  }
  if (at >= pipeline.size() || !IsMap(c, pipeline[at])) return;
  const StageId map = pipeline[at];
  if (BlamedForWork(c, map) < kModerateShare || Runs(c, map, OpFamily::kRandom)) return;
  Draft draft = Misplaced(c, map, NameOf(c, pipeline[cache]));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: no random operation was recorded", NameOf(c, map)));
  RecommendUnpriced(draft, "if nothing in it is random, " + AfterIt(c, map), Patch(),
                    "this trace does not show how large an epoch is: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const Spec& spec = *c.spec;
  const size_t cache = FirstOf<CacheSpec>(spec);
  if (cache >= spec.stages.size()) return;
  const std::optional<StableMap> stable = StableMapBehind(spec, cache);
  if (!stable.has_value()) return;
  const size_t map = stable->stage;
  const StageId id = StageNamed(c, spec.stages[map].name);
  if (BlamedForWork(c, id) < kModerateShare) return;
  const std::string& name = spec.stages[cache].name;
  const double bytes = BytesBehind(c, map);
  const auto& store = std::get<CacheSpec>(spec.stages[cache].kind);
  const bool in_memory = store.where == CacheWhere::kMemory;
  const double room = kCacheableMemory * static_cast<double>(FreeMemory(c));
  if (in_memory && room > 0 && bytes > room) return;
  Draft draft = Misplaced(c, id, name);
  Patch patch;
  patch.changes.emplace_back(MoveChange{name, Place::After(spec.stages[map].name)});
  // The last one first: each goes directly after the cache.
  for (size_t i = stable->passed.size(); i-- > 0;) {
    patch.changes.emplace_back(MoveChange{stable->passed[i], Place::After(name)});
  }
  if (store.max_bytes > 0 && bytes > 0 && RoomFor(bytes) > store.max_bytes) {
    patch.changes.emplace_back(SetTo(name + ".max_bytes", RoomFor(bytes)));
  }
  Recommend(draft, AfterIt(c, id), std::move(patch), WithTimeTimes(id, kLeftBehindCache));
  if (in_memory) CostsMemory(draft, bytes);
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
        .pytorch =
            R"py(images = torch.stack([{stage}(i) for i in range(len(dataset))])  # its results, not its input
dataset = torch.utils.data.TensorDataset(images, labels))py",
    }};

}  // namespace stallscope::findings::cache_place
