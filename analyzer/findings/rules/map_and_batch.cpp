// Row 7: the batch copies what the map before it could have written in place.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::map_and_batch {
namespace {

constexpr std::initializer_list<Cause> kCauses = {Cause::kCpu, Cause::kCpuContention,
                                                  Cause::kUnknown};

Draft Copying(const Case& c, StageId map, StageId batch, double share, int64_t size) {
  Draft draft = About(
      c, batch, share,
      fmt::format("{} of step time is spent waiting for {}, which copies what {} has just written",
                  Percent(share), NameOf(c, batch), NameOf(c, map)));
  if (const attribution::StageUse* use = UseOf(c, batch)) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per batch", NameOf(c, batch), Duration(use->service_ns.mean)));
  }
  if (!c.run.imported()) draft.args.stage = NameOf(c, map);
  draft.args.value = size > 0 ? std::to_string(size) : "batch_size";
  return draft;
}

// tf.data fuses a map and the batch after it by itself, unless a prefetch stands between them: then
// that prefetch's time goes, too.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t at = FirstOf(c, pipeline, StageRole::kBatch);
  if (at >= pipeline.size() || !Worth(c, Category::kInputStall)) return;
  const size_t before = WorkBefore(c, pipeline, at);
  const StageId map = pipeline[before];
  if (!IsMap(c, map) || !c.run.stages[map.value].ordered) return;
  double share = 0;
  std::string between;
  for (size_t i = before + 1; i <= at; ++i) {
    share += Blamed(c, pipeline[i], kCauses);
    if (i < at) between = fmt::format(", without {} between them", NameOf(c, pipeline[i]));
  }
  if (share < kModerateShare) return;
  Draft draft =
      Copying(c, map, pipeline[at], share, NumberSettingOf(c, pipeline[at], "batch_size"));
  for (size_t i = before + 1; i < at; ++i) {
    ShowWaiting(draft, c, pipeline[i], Blamed(c, pipeline[i], kCauses));
  }
  RecommendUnpriced(draft,
                    fmt::format("let {} write directly into the batch{}", NameOf(c, map), between),
                    Patch(), "a trace does not show how fast both are as one: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.map_and_batch) return;
  const auto& stages = c.spec->stages;
  const size_t at = FirstOf<BatchSpec>(*c.spec);
  if (at == 0 || at >= stages.size()) return;
  const auto* map = As<MapSpec>(stages[at - 1]);
  const StageId batch = StageNamed(c, stages[at].name);
  if (map == nullptr || map->on == MapOn::kDevice || !map->deterministic) return;
  if (!WorthAt(c, batch, kCauses)) return;
  const StageId from = StageNamed(c, stages[at - 1].name);
  Draft draft =
      Copying(c, from, batch, Blamed(c, batch), std::get<BatchSpec>(stages[at].kind).size);
  RecommendUnpriced(draft, fmt::format("let {} write directly into the batch", NameOf(c, from)),
                    Setting("rewrites.map_and_batch", true),
                    "the run does not show how fast both are as one: " + ToMeasure(c));
  draft.finding.recommendation->costs_nothing = true;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "map-and-batch",
    .row = 7,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        // tf.data fuses neighbors by itself; a prefetch or a cache between
        // them is what prevents it.
        .tf_data =
            R"py(ds = ds.map({stage}, num_parallel_calls=tf.data.AUTOTUNE)  # nothing between the two
ds = ds.batch({value}, num_parallel_calls=tf.data.AUTOTUNE))py",
        .pytorch = R"py(class Batched(torch.utils.data.Dataset):
    def __getitems__(self, indices):  # called once per batch
        batch = torch.empty(len(indices), *shape)
        for place, index in zip(batch, indices):
            place.copy_({stage}(index))  # written once, and not copied by collate
        return batch
loader = DataLoader(Batched(), batch_size={value}, collate_fn=lambda batch: batch))py",
    }};

}  // namespace stallscope::findings::map_and_batch
