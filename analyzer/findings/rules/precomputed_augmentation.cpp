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

// Inserts a repeat that gives each element several variants, and a store after the map. A shuffle
// or a repeat before the store moves after it, so that the order differs from epoch to epoch.
Patch VariantsBehind(const Spec& spec, const std::string& map) {
  const std::string variants = FreshName(spec, "variants");
  const std::string store = FreshName(spec, "augmented");
  Patch patch;
  patch.changes.emplace_back(InsertChange{{variants, RepeatSpec{kVariants}}, Place::Before(map)});
  patch.changes.emplace_back(InsertChange{{store, SnapshotSpec{store}}, Place::After(map)});
  std::vector<std::string> passed;
  for (const StageSpec& stage : spec.stages) {
    if (stage.name == map) break;
    if (As<ShuffleSpec>(stage) != nullptr || As<RepeatSpec>(stage) != nullptr) {
      passed.push_back(stage.name);
    }
  }
  for (size_t i = passed.size(); i-- > 0;) {
    patch.changes.emplace_back(MoveChange{passed[i], Place::After(store)});
  }
  return patch;
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
  RecommendUnpriced(
      draft,
      fmt::format("write {} variants of each augmented element to disk before training, and read "
                  "them in turn: fewer variants repeat the same images more often, which may cost "
                  "accuracy",
                  kVariants),
      IfItChanges(c, VariantsBehind(*c.spec, stage.name)),
      "this run does not show how fast the results can be read: `stallscope replay --verify` "
      "writes them and measures both");
  draft.args.value = std::to_string(kVariants);
  drafts.push_back(std::move(draft));
}

constexpr Advice kStoredBefore = {
    .tf_data = R"py(ds = ds.cache().map({stage}, num_parallel_calls=tf.data.AUTOTUNE))py"};

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
  draft.advice = &kStoredBefore;
  draft.args.stage = spec.stages[map].name;
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
            R"py(ds.repeat({value}).map({stage}, num_parallel_calls=tf.data.AUTOTUNE).save("/path/to/augmented")
ds = tf.data.Dataset.load("/path/to/augmented"))py",
        .pytorch =
            R"py(for variant in range({value}):  # once, before training
    torch.save(torch.stack([{stage}(image) for image, _ in dataset]), f"variant-{variant}.pt")
images = torch.load(f"variant-{epoch % {value}}.pt", mmap=True)  # per epoch)py",
    }};

}  // namespace stallscope::findings::precomputed_augmentation
