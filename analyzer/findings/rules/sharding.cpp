// Row 3: every rank or worker reads the same data, a rank discards elements that it has already
// prepared, or the data has fewer shards than workers that could read them, or shards of unlike
// size.
#include <algorithm>
#include <map>
#include <set>

#include "analyzer/base/splitmix.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/findings/unequal_shares.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/ranks.h"

namespace stallscope::findings::sharding {
namespace {

// An element that a rank has read.
struct Reading {
  uint64_t element = 0;  // the same on all ranks, if it is the same element of the same epoch
  uint64_t item = 0;
  bool batched = false;
  uint32_t rank() const { return model::RankOf(ItemId{item}); }
};

// A path may name another file on another host.
uint64_t KeyOf(const trace::Element& element) {
  uint64_t key = element.file.value;
  for (const uint64_t part :
       {element.record, element.offset, element.bytes, uint64_t{element.epoch}}) {
    key = SplitMix(key) ^ part;
  }
  return SplitMix(key);
}

// Of all, or of so many that a part is enough, which is then the same part on each rank.
std::vector<Reading> ReadingsOf(const Case& c) {
  const auto& elements = c.run.rows.elements;
  const uint64_t one_in = elements.size() / kComparedElements + 1;
  std::vector<Reading> readings;
  for (const trace::Element& element : elements) {
    const uint64_t key = KeyOf(element);
    if (element.item.known() && key % one_in == 0) readings.push_back({key, element.item.value});
  }
  return readings;
}

// Of those, the ones that came into a batch: the source reads what the shard then drops, too.
std::vector<Reading> BatchedOf(const Case& c, std::vector<Reading> readings) {
  std::set<StageId> batches;
  for (const trace::Batch& batch : c.run.rows.batches) batches.insert(batch.stage);
  const auto by_item = [](const Reading& a, const Reading& b) { return a.item < b.item; };
  std::sort(readings.begin(), readings.end(), by_item);
  for (const trace::Lineage& row : c.run.rows.lineage) {
    if (batches.count(row.stage) == 0) continue;
    const auto at =
        std::lower_bound(readings.begin(), readings.end(), Reading{0, row.in.value}, by_item);
    if (at != readings.end() && at->item == row.in.value) at->batched = true;
  }
  std::erase_if(readings, [](const Reading& reading) { return !reading.batched; });
  return readings;
}

struct Overlap {
  size_t ranks = 0;  // of which the trace shows what they read
  size_t same = 0;   // of these, the ones of which another reads most, too
  bool all = false;  // each of them reads what each other does
  double again = 0;  // the part of all that another rank has read as well
};

Overlap OverlapOf(std::vector<Reading> readings) {
  const auto order = [](const Reading& r) { return std::pair(r.element, r.rank()); };
  std::sort(readings.begin(), readings.end(),
            [&](const Reading& a, const Reading& b) { return order(a) < order(b); });
  const auto is_same = [&](const Reading& a, const Reading& b) { return order(a) == order(b); };
  readings.erase(std::unique(readings.begin(), readings.end(), is_same), readings.end());
  std::map<uint32_t, size_t> read;                           // by each rank
  std::map<std::pair<uint32_t, uint32_t>, size_t> together;  // by both
  size_t again = 0;
  size_t first = 0;  // of this element
  for (size_t i = 0; i < readings.size(); ++i) {
    ++read[readings[i].rank()];
    if (readings[i].element != readings[first].element) first = i;
    if (i > first) ++again;
    for (size_t k = first; k < std::min(i, first + kComparedRanks); ++k) {
      ++together[{readings[k].rank(), readings[i].rank()}];
    }
  }
  std::set<uint32_t> same;
  size_t pairs = 0;
  for (const auto& [ranks, count] : together) {
    // One of them may have been recorded for longer.
    const size_t fewer = std::min(read[ranks.first], read[ranks.second]);
    if (fewer < kFewestCompared ||
        static_cast<double>(count) < kMostlySame * static_cast<double>(fewer)) {
      continue;
    }
    same.insert({ranks.first, ranks.second});
    ++pairs;
  }
  const size_t compared = std::min(read.size(), kComparedRanks);
  const auto elements = static_cast<double>(std::max<size_t>(readings.size(), 1));
  return {read.size(), same.size(),
          same.size() == read.size() && pairs >= compared * (compared - 1) / 2,
          static_cast<double>(again) / elements};
}

// The first shard, or rather the first that leaves anything out; null: none.
const StageSpec* ShardIn(const Spec& spec) {
  const StageSpec* found = nullptr;
  for (const StageSpec& stage : spec.stages) {
    const auto* const shard = As<ShardSpec>(stage);
    if (shard == nullptr) continue;
    if (shard->count > 1) return &stage;
    if (found == nullptr) found = &stage;
  }
  return found;
}

// What the ranks take of the data, by the trace. Behind a batch, it does not show what a shard
// drops.
Overlap OverlapOf(const Case& c, const StageSpec* shard) {
  if (shard == nullptr || As<ShardSpec>(*shard)->count < 2) return OverlapOf(ReadingsOf(c));
  for (const StageSpec& stage : c.spec->stages) {
    if (&stage == shard) return OverlapOf(BatchedOf(c, ReadingsOf(c)));
    if (As<BatchSpec>(stage) != nullptr || As<BucketByLengthSpec>(stage) != nullptr) break;
  }
  return {};
}

std::string WhatIsWrong(const StageSpec* shard) {
  if (shard == nullptr) return ": nothing shards the input";
  if (As<ShardSpec>(*shard)->count < 2) return fmt::format(": {} has a count of 1", shard->name);
  return fmt::format(", although {} divides it: its index is not each rank's own", shard->name);
}

// A shard that is there needs an index of its own on each rank, and a patch is for all of them.
std::string SetOnEachRank(const StageSpec& shard, uint32_t ranks) {
  const int64_t count = As<ShardSpec>(shard)->count;
  const std::string index =
      fmt::format("set {}.index to the rank, in each rank's spec", shard.name);
  return count >= ranks ? index
                        : fmt::format("set {}.count to {}, and {}", shard.name, ranks, index);
}

void ShowOverlap(Draft& draft, const Case& c, const StageSpec* shard, const Overlap& overlap) {
  const std::string& source = LastSource(*c.spec);
  if (overlap.ranks < 2) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: reads every element of the data on each rank", source));
    return;
  }
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} of the ranks' elements repeat another rank's", source,
                   Percent(overlap.again)));
  if (shard == nullptr) return;
  const auto& set = *As<ShardSpec>(*shard);
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: index {} of {} on rank {}", shard->name, set.index, set.count,
                   c.run.info.rank));
}

void SameData(const Case& c, std::vector<Draft>& drafts) {
  const auto& info = c.run.info;
  if (info.world_size < 2 || !c.spec.has_value()) return;
  const Spec& spec = *c.spec;
  const StageSpec* const shard = ShardIn(spec);
  const Overlap overlap = OverlapOf(c, shard);
  const bool shown = overlap.ranks >= 2;
  if (shown ? overlap.same == 0 : shard != nullptr && As<ShardSpec>(*shard)->count > 1) return;
  const bool all = !shown || overlap.all;
  // Several hosts may have files of their own under the same names.
  const bool hosts = shown && c.run.ranks_of_host > 0 && overlap.ranks > c.run.ranks_of_host;
  const std::string& source = LastSource(spec);
  Draft draft =
      About(c, StageNamed(c, source), shown ? overlap.again : 1 - 1.0 / info.world_size,
            fmt::format("{} ranks read the same data{}{}",
                        all ? std::to_string(shown ? overlap.ranks : info.world_size)
                            : fmt::format("{} of {}", overlap.same, overlap.ranks),
                        WhatIsWrong(shard), hosts ? ", unless hosts have files of their own" : ""));
  ShowOverlap(draft, c, shard, overlap);
  draft.args.value = std::to_string(info.world_size);
  Patch patch;
  std::string text = "give each rank its own shard of the files, directly after the source";
  if (shard != nullptr) {
    text = SetOnEachRank(*shard, info.world_size);
  } else if (!all || hosts) {  // others have files of their own, of which a shard would drop some
    text = all ? "give each rank its own part of the files"
               : "give each of these ranks its own part of the files";
  } else {
    patch.changes.emplace_back(InsertChange{
        {FreshName(spec, "shard"), ShardSpec{info.world_size, info.rank}}, Place::After(source)});
  }
  RecommendUnpriced(
      draft, std::move(text), std::move(patch),
      "this affects whether every element is seen once per epoch, not how fast a rank reads",
      Aim::kQuality);
  draft.finding.stands_alone = true;
  drafts.push_back(std::move(draft));
}

// The work before the shard is done for every shard.
Effect OncePerShard(const Case& c, size_t shard, int64_t count) {
  std::vector<StageId> before;
  for (size_t i = 1; i < shard; ++i) before.push_back(StageNamed(c, c.spec->stages[i].name));
  return {[before, count](Load& load, double) {
    for (StageId id : before) {
      StageDemand* stage = load.Find(id);
      if (stage != nullptr) stage->items /= static_cast<double>(count);
    }
  }};
}

Draft Discarding(const Case& c, StageId shard, int64_t count, StageId map, double share) {
  const std::string name = NameOf(c, shard);
  Draft draft = About(c, shard, share,
                      fmt::format("{} keeps one element in {}, after {} has processed all of them",
                                  name, count, NameOf(c, map)));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} of step time is spent waiting for stages before {}", Percent(share), name));
  draft.args.value = std::to_string(count);
  return draft;
}

void TooLateInTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t shard = FirstOf(c, pipeline, StageRole::kShard);
  const auto map =
      static_cast<size_t>(std::find_if(pipeline.begin(), pipeline.end(),
                                       [&](StageId stage) { return IsMap(c, stage); }) -
                          pipeline.begin());
  if (shard >= pipeline.size() || map > shard) return;
  const int64_t count = NumberSettingOf(c, pipeline[shard], "num_shards");
  double share = 0;
  for (size_t i = 0; i < shard; ++i) share += BlamedForWork(c, pipeline[i]);
  if (count < 2 || share < kModerateShare) return;
  Draft draft = Discarding(c, pipeline[shard], count, pipeline[map], share);
  RecommendUnpriced(draft, fmt::format("shard before {}", NameOf(c, pipeline[map])), Patch(),
                    "a trace does not show how much less its source then reads: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void TooLate(const Case& c, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return TooLateInTrace(c, drafts);
  const Spec& spec = *c.spec;
  const size_t shard = FirstOf<ShardSpec>(spec);
  const size_t map = FirstOf<MapSpec>(spec);
  if (shard >= spec.stages.size() || map > shard) return;
  const int64_t count = std::get<ShardSpec>(spec.stages[shard].kind).count;
  double share = 0;
  for (size_t i = 0; i < shard; ++i) share += BlamedForWork(c, StageNamed(c, spec.stages[i].name));
  if (count < 2 || share < kModerateShare) return;
  const std::string& name = spec.stages[shard].name;
  Draft draft =
      Discarding(c, StageNamed(c, name), count, StageNamed(c, spec.stages[map].name), share);
  Patch patch;
  patch.changes.emplace_back(MoveChange{name, Place::After(LastSource(spec))});
  Recommend(draft, fmt::format("shard directly after {}", LastSource(spec)), std::move(patch),
            OncePerShard(c, shard, count));
  drafts.push_back(std::move(draft));
}

// Code that makes more shards.
constexpr Advice kFewShards = {
    .pytorch = R"py(data = dataset.to_iterable_dataset(num_shards={value})  # Hugging Face datasets
writer = wds.ShardWriter("data-%06d.tar", maxcount=samples // {value})  # WebDataset)py",
};

bool HasFewerThanWorkers(const model::Loader& loader) {
  const int64_t shards = ShardsOf(loader);
  return shards != 0 && shards < model::LoaderSpecOf(loader.info).num_workers;
}

void FewerThanWorkers(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const model::Loader* const loader = JobLoaderOf(c, stage.id);
    if (loader == nullptr || stage.kind != "map" || !HasFewerThanWorkers(*loader)) continue;
    const int64_t shards = ShardsOf(*loader);
    const int64_t workers = model::LoaderSpecOf(loader->info).num_workers;
    const double blamed = BlamedForWork(c, stage.id);
    Draft draft = About(
        c, stage.id, blamed,
        fmt::format("{} of {}'s {} have nothing to load: its data set has {}", workers - shards,
                    loader->name, Counted(static_cast<uint64_t>(workers), "worker"),
                    Counted(static_cast<uint64_t>(shards), "shard")));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: a worker reads whole shards; one without a shard stops", stage.name));
    draft.args.value = std::to_string(workers);
    draft.advice = &kFewShards;
    const auto knobs = model::LoaderSpecOf(loader->info).knobs;
    const bool settable = std::find(knobs.begin(), knobs.end(), "num_shards") != knobs.end();
    RecommendUnpriced(
        draft,
        fmt::format("{} at least {} shards, or drop the idle workers: num_workers={}",
                    settable ? "divide the stream into" : "write the data as", workers, shards),
        settable ? LoaderSetting(c, stage.id, "num_shards", workers) : Patch(),
        "stallscope cannot predict the gain of other shards",
        blamed < kModerateShare ? Aim::kQuality : Aim::kSpeed);
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
  }
}

void RepeatedByWorkers(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const model::Loader* const loader = JobLoaderOf(c, stage.id);
    if (loader == nullptr || stage.kind != "map" || !RepeatsInWorkers(*loader)) continue;
    const int64_t workers = model::LoaderSpecOf(loader->info).num_workers;
    if (workers < 2) continue;
    Draft draft = About(
        c, stage.id, BlamedForWork(c, stage.id),
        fmt::format("each of {}'s {} workers yields all of {}: each element is yielded {} times",
                    loader->name, workers, loader->info.dataset, workers));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: its code does not ask which worker it is in, and draws nothing at random",
                     loader->info.dataset));
    draft.args.value = std::to_string(workers);
    draft.advice = &kDivideStream;
    RecommendUnpriced(draft, "divide the data set among its workers (get_worker_info())", Patch(),
                      "this affects what an epoch contains, not speed", Aim::kQuality);
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
  }
}

void Unequal(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    if (stage.kind != "map") continue;
    const std::optional<UnequalShares> shares = UnequalSharesOf(c, stage.id);
    if (!shares.has_value()) continue;
    const model::Loader& loader = *JobLoaderOf(c, stage.id);
    if (HasFewerThanWorkers(loader)) continue;  // which says more
    const int64_t workers = model::LoaderSpecOf(loader.info).num_workers;
    Draft draft = About(c, stage.id, shares->share,
                        fmt::format("{}'s {} workers have unequal shares of {}: {} made {} of the "
                                    "{} batches of a pass",
                                    loader.name, workers, loader.info.dataset, shares->worker,
                                    shares->most, shares->batches));
    Show(
        draft, Evidence::Kind::kSpans,
        fmt::format("{}: {} of the {} batches came after {} of the workers had no data left; {} of "
                    "step time is spent waiting for such batches",
                    stage.name, shares->behind, shares->batches,
                    workers == 2 ? "one" : "at least half", Percent(shares->share)));
    draft.args.value = std::to_string(workers);
    draft.advice = &kDivideStream;
    RecommendUnpriced(draft,
                      "divide the data evenly: every n-th element for each of n workers, or files "
                      "of equal size; with fewer large files than workers, split them",
                      Patch(), "stallscope cannot predict the gain of other shares");
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  SameData(c, drafts);
  TooLate(c, drafts);
  FewerThanWorkers(c, drafts);
  RepeatedByWorkers(c, drafts);
  Unequal(c, drafts);
}

}  // namespace

extern const Rule kRule = {
    .id = "sharding",
    .row = 3,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = files.shard(num_shards={value}, index=rank)  # first, on the list of files)py",
        .pytorch =
            R"py(sampler = torch.utils.data.DistributedSampler(dataset, num_replicas={value}, rank=rank)
loader = DataLoader(dataset, batch_size, sampler=sampler)  # and sampler.set_epoch(epoch))py",
        .dali = R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           shard_id=rank, num_shards={value}))py",
        .grain = R"py(ds = ds[rank::{value}]  # first)py",
    }};

}  // namespace stallscope::findings::sharding
