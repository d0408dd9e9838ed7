// Row 3: every rank reads the same data, a rank discards elements that it has already prepared, or
// the data has fewer shards than workers that could read them.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::sharding {
namespace {

void Missing(const Case& c, std::vector<Draft>& drafts) {
  const auto& info = c.run.info;
  if (info.world_size < 2 || !c.spec.has_value()) return;
  const Spec& spec = *c.spec;
  if (FirstOf<ShardSpec>(spec) < spec.stages.size()) return;
  const std::string& source = LastSource(spec);
  Draft draft =
      About(c, StageNamed(c, source), 1 - 1.0 / info.world_size,
            fmt::format("{} ranks read the same data: nothing shards the input", info.world_size));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: reads every element of the data on each rank", source));
  draft.args.value = std::to_string(info.world_size);
  Patch patch;
  patch.changes.emplace_back(InsertChange{
      {FreshName(spec, "shard"), ShardSpec{info.world_size, info.rank}}, Place::After(source)});
  RecommendUnpriced(
      draft, "give each rank its own shard of the files, directly after the source",
      std::move(patch),
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

void TooLate(const Case& c, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || !Worth(c, Category::kInputStall)) return;
  const Spec& spec = *c.spec;
  const size_t shard = FirstOf<ShardSpec>(spec);
  const size_t map = FirstOf<MapSpec>(spec);
  if (shard >= spec.stages.size() || map > shard) return;
  const int64_t count = std::get<ShardSpec>(spec.stages[shard].kind).count;
  double share = 0;
  for (size_t i = 0; i < shard; ++i) share += BlamedForWork(c, StageNamed(c, spec.stages[i].name));
  if (count < 2 || share < kModerateShare) return;
  const std::string& name = spec.stages[shard].name;
  Draft draft = About(c, StageNamed(c, name), share,
                      fmt::format("{} keeps one element in {}, after {} has processed all of them",
                                  name, count, spec.stages[map].name));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} of step time is spent waiting for stages before {}", Percent(share), name));
  draft.args.value = std::to_string(count);
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

void FewerThanWorkers(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const model::Loader* const loader = JobLoaderOf(c, stage.id);
    if (loader == nullptr || stage.kind != "map") continue;
    const int64_t shards = ShardsOf(*loader);
    const int64_t workers = model::LoaderSpecOf(loader->info).num_workers;
    if (shards == 0 || workers <= shards) continue;
    Draft draft = About(
        c, stage.id, BlamedForWork(c, stage.id),
        fmt::format("{} of {}'s {} have nothing to load: its data set has {}", workers - shards,
                    loader->name, Counted(static_cast<uint64_t>(workers), "worker"),
                    Counted(static_cast<uint64_t>(shards), "shard")));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: a worker reads whole shards; one without a shard stops", stage.name));
    draft.args.value = std::to_string(workers);
    draft.advice = &kFewShards;
    RecommendUnpriced(draft,
                      fmt::format("write the data as at least {} shards, or drop the idle workers: "
                                  "num_workers={}",
                                  workers, shards),
                      Patch(), "stallscope cannot predict the gain of other shards", Aim::kQuality);
    draft.finding.stands_alone = true;
    drafts.push_back(std::move(draft));
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  Missing(c, drafts);
  TooLate(c, drafts);
  FewerThanWorkers(c, drafts);
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
