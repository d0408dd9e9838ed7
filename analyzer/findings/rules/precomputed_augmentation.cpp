// Row 10: random work that costs step time could be done in advance, in several variants per
// element; and random work before a store is done only once, which is rarely intended.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/findings/stores.h"

namespace stallscope::findings::precomputed_augmentation {
namespace {

bool IsStore(const StageSpec& stage) {
  return As<CacheSpec>(stage) != nullptr || As<SnapshotSpec>(stage) != nullptr;
}

bool StoreBehindStage(const Spec& spec, size_t stage) {
  for (size_t i = stage + 1; i < spec.stages.size(); ++i) {
    if (IsStore(spec.stages[i])) return true;
  }
  return false;
}

void Ahead(const Case& c, const StageSpec& stage, std::vector<Draft>& drafts) {
  const StageId id = StageNamed(c, stage.name);
  if (!WorthAt(c, id, {Cause::kCpu, Cause::kCpuContention})) return;
  const std::vector<OpCall> ops = OpsOf(std::get<MapSpec>(stage.kind));
  const auto random =
      std::find_if(ops.begin(), ops.end(), [](const OpCall& op) { return op.op->random; });
  const auto first = static_cast<size_t>(random - ops.begin());
  // What stands before the first random op is the same each time.
  const double share = BlamedForWork(c, id) * (first == 0 ? 1 : ShareFrom(ops, first));
  if (share < kModerateShare) return;
  Draft draft =
      About(c, id, share,
            fmt::format("{} of step time is random augmentation in {} ({})",
                        ShareText(share, first != 0), stage.name, Joined(ops, first, ops.size())));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} of step time", stage.name, ShareText(share, first != 0)));
  Patch patch;
  patch.changes.emplace_back(InsertChange{
      {FreshName(*c.spec, "augmented"), SnapshotSpec{"augmented"}}, Place::After(stage.name)});
  RecommendUnpriced(
      draft,
      fmt::format("write augmented elements to disk before training, several variants of each: "
                  "with only one, every epoch sees the same images, which may cost accuracy"),
      std::move(patch),
      "this run does not show how fast the results can be read: record two runs with the change; "
      "the second one reads them");
  drafts.push_back(std::move(draft));
}

void Frozen(const Case& c, size_t map, std::vector<Draft>& drafts) {
  const Spec& spec = *c.spec;
  size_t store = map + 1;
  while (!IsStore(spec.stages[store])) ++store;
  const std::string& name = spec.stages[store].name;
  Draft draft = About(c, StageNamed(c, name), 0,
                      fmt::format("{} stores the randomly generated output of {}: every epoch sees "
                                  "the same augmented elements",
                                  name, spec.stages[map].name));
  draft.finding.severity = Severity::kLow;
  Show(draft, Evidence::Kind::kSpans, fmt::format("{}: random ops", spec.stages[map].name));
  Patch patch;
  patch.changes.emplace_back(MoveChange{name, Place::Before(spec.stages[map].name)});
  RecommendUnpriced(
      draft, fmt::format("move {} before {}, unless this is intended", name, spec.stages[map].name),
      std::move(patch), "this affects what the model sees, not speed", Aim::kQuality);
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return;
  for (size_t i = 0; i < c.spec->stages.size(); ++i) {
    const auto* map = As<MapSpec>(c.spec->stages[i]);
    if (map == nullptr || map->on == MapOn::kDevice || !IsRandom(*map)) continue;
    if (StoreBehindStage(*c.spec, i)) return Frozen(c, i, drafts);
    Ahead(c, c.spec->stages[i], drafts);
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "precomputed-augmentation",
    .row = 10,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds.repeat(variants).map({stage}, num_parallel_calls=tf.data.AUTOTUNE).save("/path/to/augmented")
ds = tf.data.Dataset.load("/path/to/augmented"))py",
    }};

}  // namespace stallscope::findings::precomputed_augmentation
