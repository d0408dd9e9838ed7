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

void RecommendAhead(const Case& c, Draft& draft, Patch patch, std::string why) {
  RecommendUnpriced(
      draft,
      fmt::format("write {} variants of each augmented element to disk before training, and read "
                  "them in turn: fewer variants repeat the same images more often, which may cost "
                  "accuracy",
                  kVariants),
      IfItChanges(c, std::move(patch)), std::move(why));
  draft.args.value = std::to_string(kVariants);
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
  RecommendAhead(
      c, draft, VariantsBehind(*c.spec, stage.name),
      "this run does not show how fast the results can be read: `stallscope replay --verify` "
      "writes them and measures both");
  draft.finding.recommendation->only_measured =
      ReadFromDisk(c, BytesOfSample(c) * static_cast<double>(kVariants) *
                          static_cast<double>(ElementsOfEpoch(c)));
  drafts.push_back(std::move(draft));
}

constexpr Advice kStoredBefore = {
    .tf_data = R"py(ds = ds.cache().map({stage}, num_parallel_calls=tf.data.AUTOTUNE))py"};

Draft FrozenDraft(const Case& c, StageId map, StageId store, Patch patch) {
  Draft draft = About(c, store, 0,
                      fmt::format("{} stores the randomly generated output of {}: every epoch sees "
                                  "the same augmented elements",
                                  NameOf(c, store), NameOf(c, map)));
  draft.finding.severity = Severity::kLow;
  Show(draft, Evidence::Kind::kSpans, fmt::format("{}: random ops", NameOf(c, map)));
  RecommendUnpriced(
      draft,
      fmt::format("move {} before {}, unless this is intended", NameOf(c, store), NameOf(c, map)),
      std::move(patch), "this affects what the model sees, not speed", Aim::kQuality);
  draft.advice = &kStoredBefore;
  if (!c.run.imported()) draft.args.stage = NameOf(c, map);
  return draft;
}

void Frozen(const Case& c, size_t map, std::vector<Draft>& drafts) {
  const auto& stages = c.spec->stages;
  size_t store = map + 1;
  while (!IsStore(stages[store])) ++store;
  Patch patch;
  patch.changes.emplace_back(MoveChange{stages[store].name, Place::Before(stages[map].name)});
  drafts.push_back(FrozenDraft(c, StageNamed(c, stages[map].name),
                               StageNamed(c, stages[store].name), std::move(patch)));
}

void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  for (size_t i = 0; i < pipeline.size(); ++i) {
    if (!IsMap(c, pipeline[i])) continue;
    const size_t store = FirstOf(c, pipeline, StageRole::kCache, i);
    const bool stored = store < pipeline.size();
    // The sweep over the operations is worth its time only if something can come of it.
    const double share = BlamedForWork(c, pipeline[i]);
    if (!stored && !(Worth(c, Category::kInputStall) && share >= kModerateShare)) continue;
    if (!Runs(c, pipeline[i], OpFamily::kRandom)) continue;
    if (stored) {
      if (FirstOf(c, pipeline, StageRole::kRepeat) < i) return;
      drafts.push_back(FrozenDraft(c, pipeline[i], pipeline[store], Patch()));
      return;
    }
    Draft draft = About(c, pipeline[i], share,
                        fmt::format("{} of step time is spent waiting for {}, which augments "
                                    "elements at random",
                                    Percent(share), NameOf(c, pipeline[i])));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: runs random operations", NameOf(c, pipeline[i])));
    RecommendAhead(c, draft, Patch(),
                   "this trace does not show how fast the results can be read: " + ToMeasure(c));
    drafts.push_back(std::move(draft));
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  for (size_t i = 0; i < c.spec->stages.size(); ++i) {
    const auto* map = As<MapSpec>(c.spec->stages[i]);
    if (map == nullptr || map->on == MapOn::kDevice || !IsRandom(*map)) continue;
    if (!StoreBehindStage(*c.spec, i)) {
      Ahead(c, c.spec->stages[i], drafts);
    } else {
      if (FirstOf<RepeatSpec>(*c.spec) > i)
        Frozen(c, i, drafts);  // else it stores several variants
      return;
    }
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
