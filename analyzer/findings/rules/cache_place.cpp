// Rows 8 and 9: the cache or the snapshot is placed before work that it could save; or the cache
// behind the repeat, where no epoch reads what another one stored.
#include <algorithm>

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

// The repeat because of which the cache sees all epochs as one that it is never asked for again;
// null: none. A finite one may make variants of each element for a repeat behind the cache.
const StageSpec* RepeatBefore(const Spec& spec, size_t cache) {
  const auto repeats = [](const StageSpec& stage) {
    const auto* const repeat = As<RepeatSpec>(stage);
    return repeat != nullptr && repeat->count != 1;
  };
  const auto at = spec.stages.begin() + static_cast<std::ptrdiff_t>(cache);
  const bool asked_again = std::any_of(at, spec.stages.end(), repeats);
  const auto found = std::find_if(spec.stages.begin(), at, [&](const StageSpec& stage) {
    return repeats(stage) && (!asked_again || As<RepeatSpec>(stage)->count == 0);
  });
  return found == at ? nullptr : &*found;
}

// As for a new cache, but with the one that is there.
Patch MovedBehind(const Spec& without, const StablePrefix& prefix, const StageSpec& cache) {
  Patch patch = StoreBehind(without, prefix, cache);
  for (auto& change : patch.changes) {
    const auto* const insert = std::get_if<InsertChange>(&change);
    if (insert == nullptr || insert->stage.name != cache.name) continue;
    const Place place = insert->place;
    change = MoveChange{cache.name, place};
  }
  return patch;
}

constexpr Advice kBeforeRepeat = {
    .tf_data = R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).cache().repeat())py",
    .pytorch =
        R"py(images = torch.stack([{stage}(i) for i in range(len(dataset))])  # once, before all epochs
dataset = torch.utils.data.TensorDataset(images, labels))py",
};
// There is no work besides reading.
constexpr Advice kReadBeforeRepeat = {.tf_data = R"py(ds = ds.cache().repeat())py"};

// A map must be split, or the cache goes to disk: no lines that fit every case.
constexpr Advice kNoCode = {};

void AdviseBeforeRepeat(Draft& draft, const Spec& without, const StablePrefix& prefix,
                        bool in_memory) {
  draft.advice = !prefix.whole || !in_memory ? &kNoCode
                 : prefix.maps               ? &kBeforeRepeat
                                             : &kReadBeforeRepeat;
  for (size_t i = 0; i <= prefix.last; ++i) {
    if (As<MapSpec>(without.stages[i]) != nullptr) draft.args.stage = without.stages[i].name;
  }
}

void BehindRepeat(const Case& c, size_t at, const StageSpec& repeat, std::vector<Draft>& drafts) {
  const StageSpec& stage = c.spec->stages[at];
  const auto& cache = std::get<CacheSpec>(stage.kind);
  // What a cache should keep, as if there were none: this one keeps nothing for later.
  Case without{c.run, c.attribution, c.verdict, c.spec, c.stages};
  auto& stages = without.spec->stages;
  stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(at));
  const std::optional<StoreCase> store = StoreCaseOf(without);
  if (!store.has_value()) return;
  const StageId last = StageNamed(c, stages[store->prefix.last].name);
  Draft draft =
      About(c, last, store->share,
            fmt::format(
                "{} is placed behind {}, so that it only grows and is never read from: {} of "
                "step time is work that every epoch repeats ({})",
                stage.name, repeat.name, ShareText(store->share, store->estimated), store->names));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: begins the next epoch before {} sees the end of one", repeat.name,
                   stage.name));
  Patch patch = MovedBehind(*without.spec, store->prefix, stage);
  const double bytes = static_cast<double>(store->elements) * store->element_bytes;
  const bool in_memory = cache.where == CacheWhere::kMemory;
  // It has taken memory itself, for every epoch.
  double held = 0;
  for (const auto& of : c.attribution.memory.stages) {
    if (in_memory && of.stage == StageNamed(c, stage.name)) held += static_cast<double>(of.bytes);
  }
  const auto free = static_cast<double>(FreeMemory(c));
  const double room = free > 0 ? kCacheableMemory * (free + held) : 0;
  const bool fits = !in_memory || room <= 0 || bytes <= room;
  if (!fits) patch.changes.emplace_back(SetTo(stage.name + ".where", ToWord(CacheWhere::kDisk)));
  if (cache.max_bytes > 0 && RoomFor(bytes) > cache.max_bytes) {
    patch.changes.emplace_back(SetTo(stage.name + ".max_bytes", RoomFor(bytes)));
  }
  const std::string text =
      fmt::format("cache after {}{}, before {}{}; faster from the second epoch on",
                  store->prefix.whole ? "" : "the first ops of ", NameOf(c, last), repeat.name,
                  fits ? "" : ", on disk: an epoch does not fit into memory");
  const std::optional<double> first_epoch = FirstEpoch(c, *store);
  if (first_epoch.has_value()) {
    const Assumed& left = in_memory && fits ? kLeftFromMemory : kLeftFromDisk;
    Recommend(draft, text, std::move(patch), Stored(without, *store, left, *first_epoch));
  } else {
    RecommendUnpriced(
        draft, text, std::move(patch),
        "no recorded step is of a second epoch, which the cache speeds up: record more steps");
  }
  draft.finding.stands_alone = true;  // it takes memory for nothing
  AdviseBeforeRepeat(draft, *without.spec, store->prefix, in_memory && fits);
  drafts.push_back(std::move(draft));
}

constexpr Advice kStoreAfter = {
    .tf_data =
        R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE).snapshot("/path/to/snapshot"))py"};

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const Spec& spec = *c.spec;
  size_t cache = FirstOf<CacheSpec>(spec);
  if (cache < spec.stages.size()) {
    const StageSpec* const repeat = RepeatBefore(spec, cache);
    if (repeat != nullptr) return BehindRepeat(c, cache, *repeat, drafts);
  } else {
    cache = FirstOf<SnapshotSpec>(spec);
    if (cache >= spec.stages.size()) return;
  }
  const std::optional<StableMap> stable = StableMapBehind(spec, cache);
  if (!stable.has_value()) return;
  const size_t map = stable->stage;
  const StageId id = StageNamed(c, spec.stages[map].name);
  if (BlamedForWork(c, id) < kModerateShare) return;
  const std::string& name = spec.stages[cache].name;
  const double bytes = BytesBehind(c, map);
  const auto* const store =
      As<CacheSpec>(spec.stages[cache]);  // null: a snapshot, which is on disk
  const bool in_memory = store != nullptr && store->where == CacheWhere::kMemory;
  const double room = kCacheableMemory * static_cast<double>(FreeMemory(c));
  if (in_memory && room > 0 && bytes > room) return;
  Draft draft = Misplaced(c, id, name);
  Patch patch;
  patch.changes.emplace_back(MoveChange{name, Place::After(spec.stages[map].name)});
  // The last one first: each goes directly after the cache.
  for (size_t i = stable->passed.size(); i-- > 0;) {
    patch.changes.emplace_back(MoveChange{stable->passed[i], Place::After(name)});
  }
  if (store != nullptr && store->max_bytes > 0 && bytes > 0 && RoomFor(bytes) > store->max_bytes) {
    patch.changes.emplace_back(SetTo(name + ".max_bytes", RoomFor(bytes)));
  }
  if (store == nullptr) draft.advice = &kStoreAfter;
  Recommend(draft,
            store != nullptr
                ? AfterIt(c, id)
                : fmt::format("write what {} makes instead of what it gets", NameOf(c, id)),
            std::move(patch), WithTimeTimes(id, kLeftBehindCache));
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
