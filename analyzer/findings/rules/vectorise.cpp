// Row 6: work that has a form for whole batches is done element by element.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::vectorise {
namespace {

// True if the whole map works on single values, or if its elements are so cheap that handing them
// over is the main cost.
bool WouldHelp(const Case& c, StageId stage, const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  if (ops.empty() || !ops.back().op->batched) return false;
  const attribution::StageUse* use = UseOf(c, stage);
  if (use == nullptr || use->elements == 0) return false;
  return std::all_of(ops.begin(), ops.end(), IsPerValue) || use->service_ns.mean < kCheapServiceNs;
}

// HandsOnAsTheyAre, of a stage that has no spec.
bool HandsOnElements(const Case& c, StageId stage) {
  const StageRole role = RoleOf(c, stage);
  return role == StageRole::kShuffle || role == StageRole::kPrefetch ||
         role == StageRole::kRepeat || role == StageRole::kShard;
}

void Say(const Case& c, StageId map, Patch patch, std::vector<Draft>& drafts) {
  const double share = BlamedForWork(c, map);
  Draft draft = About(c, map, share,
                      fmt::format("{} of step time is spent waiting for {}, which processes "
                                  "elements one by one and could process whole batches",
                                  Percent(share), NameOf(c, map)));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} per element", NameOf(c, map), Duration(UseOf(c, map)->service_ns.mean)));
  RecommendUnpriced(
      draft, fmt::format("move {} behind the batch, and map whole batches", NameOf(c, map)),
      std::move(patch),
      "a run does not show how fast the same work is on whole batches: " + ToMeasure(c));
  draft.finding.recommendation->costs_nothing = true;
  drafts.push_back(std::move(draft));
}

// A framework's trace shows the shape of what is batched, but not whether a function has a form for
// batches: only a map that does next to nothing for each element is worth rewriting.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  const size_t batch = FirstOf(c, pipeline, StageRole::kBatch);
  if (batch >= pipeline.size()) return;
  size_t behind = batch;
  while (behind > 1 && HandsOnElements(c, pipeline[behind - 1])) --behind;
  if (behind == 0) return;
  const StageId map = pipeline[behind - 1];
  const attribution::StageUse* use = UseOf(c, map);
  if (!IsMap(c, map) || use == nullptr || use->elements == 0) return;
  if (!BytesHandedOn(c, map).has_value() || use->service_ns.mean >= kCheapServiceNs) return;
  if (BlamedForWork(c, map) >= kModerateShare) Say(c, map, Patch(), drafts);
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  const Spec& spec = *c.spec;
  const size_t batch = FirstOf<BatchSpec>(spec);
  if (batch == 0 || batch >= spec.stages.size()) return;
  size_t behind = batch;
  while (behind > 1 && HandsOnAsTheyAre(spec.stages[behind - 1], "")) --behind;
  if (spec.rewrites.vectorise && behind == batch) return;
  const StageSpec& before = spec.stages[behind - 1];
  const auto* map = As<MapSpec>(before);
  const StageId id = StageNamed(c, before.name);
  if (map == nullptr || map->on == MapOn::kDevice) return;
  // The batch would fail on elements of unequal size.
  if (!OneSizeBefore(spec, batch)) return;
  if (BlamedForWork(c, id) < kModerateShare || !WouldHelp(c, id, *map)) return;
  Patch patch;
  // The rewrite moves ops of the stage next to the batch only.
  if (behind < batch) {
    patch.changes.emplace_back(MoveChange{before.name, Place::Before(spec.stages[batch].name)});
  }
  patch.changes.emplace_back(SetTo("rewrites.vectorise", true));
  Say(c, id, std::move(patch), drafts);
}

}  // namespace

extern const Rule kRule = {
    .id = "vectorise",
    .row = 6,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.batch(batch_size).map({stage}, num_parallel_calls=tf.data.AUTOTUNE))py",
        .pytorch = R"py(class Batched(torch.utils.data.Dataset):
    def __getitems__(self, indices):  # called once a batch
        return {stage}(self.data[indices]))py",
        .grain = R"py(ds = ds.batch(batch_size).map({stage}))py",
    }};

}  // namespace stallscope::findings::vectorise
