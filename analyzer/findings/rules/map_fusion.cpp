// Row 7: two maps in a row do so little work that passing elements between them is the main cost.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::map_fusion {
namespace {

bool Cheap(const Case& c, StageId stage) {
  const attribution::StageUse* use = UseOf(c, stage);
  return use != nullptr && use->elements > 0 && use->service_ns.mean < kCheapServiceNs;
}

// Two maps that a fusion would join, with elements passing from thread to thread between them.
bool Fusible(const Case& c, const StageSpec& first, const StageSpec& second) {
  const auto* a = As<MapSpec>(first);
  const auto* b = As<MapSpec>(second);
  if (a == nullptr || b == nullptr || a->on != MapOn::kHost || b->on != MapOn::kHost) return false;
  if (a->deterministic != b->deterministic) return false;
  return HasOwnThreads(c, StageNamed(c, first.name));
}

// The fused map gets the larger of the two pools: it needs the workers of both.
Patch OneMap(const StageSpec& first, const StageSpec& second) {
  Patch patch = Setting("rewrites.map_fusion", true);
  const Knob& a = std::get<MapSpec>(first.kind).parallelism;
  const Knob& b = std::get<MapSpec>(second.kind).parallelism;
  if (!a.automatic && !b.automatic) {
    patch.changes.emplace_back(SetTo(second.name + ".parallelism", a.value + b.value));
  }
  return patch;
}

// False if they are not worth it.
bool Say(const Case& c, StageId first, StageId second, Patch patch, std::vector<Draft>& drafts) {
  const double share = BlamedForWork(c, first) + BlamedForWork(c, second);
  if (share < kModerateShare || !Cheap(c, first) || !Cheap(c, second)) return false;
  Draft draft = About(c, second, share,
                      fmt::format("{} of step time is spent waiting for {} and {}, which do "
                                  "little work and pass every element from thread to thread",
                                  Percent(share), NameOf(c, first), NameOf(c, second)));
  for (StageId id : {first, second}) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per element", NameOf(c, id), Duration(UseOf(c, id)->service_ns.mean)));
  }
  draft.args.value = c.run.imported() ? "first_fn" : NameOf(c, first);
  RecommendUnpriced(draft, "fuse both into one map", std::move(patch),
                    "the cost of passing elements on is not recorded: " + ToMeasure(c));
  draft.finding.recommendation->costs_nothing = true;
  drafts.push_back(std::move(draft));
  return true;
}

void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  for (size_t i = 0; i + 1 < pipeline.size(); ++i) {
    const StageId first = pipeline[i];
    const StageId second = pipeline[i + 1];
    if (!IsMap(c, first) || !IsMap(c, second)) continue;
    const bool same_order = c.run.stages[first.value].ordered == c.run.stages[second.value].ordered;
    if (!same_order || !HasOwnThreads(c, first)) continue;
    if (Say(c, first, second, Patch(), drafts)) return;
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->rewrites.map_fusion) return;
  const auto& stages = c.spec->stages;
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    if (!Fusible(c, stages[i], stages[i + 1])) continue;
    const StageId first = StageNamed(c, stages[i].name);
    const StageId second = StageNamed(c, stages[i + 1].name);
    if (Say(c, first, second, OneMap(stages[i], stages[i + 1]), drafts)) return;
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "map-fusion",
    .row = 7,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.map(lambda x: {stage}({value}(x)), num_parallel_calls=tf.data.AUTOTUNE))py",
        .pytorch =
            R"py(# a torchdata node or an IterDataPipe each costs a hand-over: one function for both
dataset = dataset.map(lambda x: {stage}({value}(x))))py",
        .grain = R"py(ds = ds.map(lambda x: {stage}({value}(x))))py",
    }};

}  // namespace stallscope::findings::map_fusion
