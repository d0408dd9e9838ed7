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

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->rewrites.map_fusion) return;
  if (!Worth(c, Category::kInputStall)) return;
  const auto& stages = c.spec->stages;
  for (size_t i = 0; i + 1 < stages.size(); ++i) {
    if (!Fusible(c, stages[i], stages[i + 1])) continue;
    const StageId first = StageNamed(c, stages[i].name);
    const StageId second = StageNamed(c, stages[i + 1].name);
    const double share = BlamedForWork(c, first) + BlamedForWork(c, second);
    if (share < kModerateShare || !Cheap(c, first) || !Cheap(c, second)) continue;
    Draft draft = About(c, second, share,
                        fmt::format("{} of step time is spent waiting for {} and {}, which do "
                                    "little work and pass every element from thread to thread",
                                    Percent(share), stages[i].name, stages[i + 1].name));
    for (StageId id : {first, second}) {
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{}: {} per element", NameOf(c, id),
                       Duration(UseOf(c, id) != nullptr ? UseOf(c, id)->service_ns.mean : 0)));
    }
    draft.args.value = stages[i].name;
    RecommendUnpriced(draft, "fuse both into one map", OneMap(stages[i], stages[i + 1]),
                      "the cost of passing elements on is not recorded: replay it with the change");
    drafts.push_back(std::move(draft));
    return;
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
