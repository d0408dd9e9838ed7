// Row 5: several stages have too few workers, set by hand; the tuner finds all of them at once.
#include <algorithm>
#include <cmath>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::autotune {
namespace {

const Knob* Parallelism(const StageSpec& stage) {
  if (const auto* map = As<MapSpec>(stage)) return &map->parallelism;
  if (const auto* batch = As<BatchSpec>(stage)) return &batch->parallelism;
  const auto* source = As<SourceSpec>(stage);
  const bool readers = source != nullptr && source->format != SourceFormat::kSerial;
  return readers ? &source->parallelism : nullptr;
}

// The stages whose number of workers was chosen by hand. A framework's trace shows it as well:
// where its tuner chose, and which iterators can work in parallel.
std::vector<StageId> SetByHand(const Case& c) {
  std::vector<StageId> stages;
  if (c.spec.has_value()) {
    for (const StageSpec& stage : c.spec->stages) {
      const Knob* knob = Parallelism(stage);
      if (knob != nullptr && !knob->automatic) stages.push_back(StageNamed(c, stage.name));
    }
    return stages;
  }
  for (const StageId stage : TracedPipeline(c)) {
    const bool in_parallel = IsMap(c, stage) && !CallsPython(c, stage);
    if (in_parallel && !IsTuned(c, stage)) stages.push_back(stage);
  }
  return stages;
}

// Stages, set by hand, that cannot keep up with the trainer.
std::vector<StageId> TooSlow(const Case& c, const Load& load) {
  std::vector<StageId> slow;
  const double wanted = ConsumerSamplesPerSecond(load);
  for (const StageId id : SetByHand(c)) {
    const attribution::StageUse* use = UseOf(c, id);
    if (use == nullptr || use->serial) continue;
    // One run does not show whether more readers get more out of a disk.
    if (2 * use->io_ns > use->busy_ns) continue;
    if (use->capacity_samples_per_s.value_or(wanted) < wanted) slow.push_back(id);
  }
  return slow;
}

// Enough workers for each of them to keep up; the law limits them by the cores.
Effect Tuned(const std::vector<StageId>& stages) {
  return {.apply =
              [stages](Load& load, double size) {
                const double wanted = std::min(ConsumerSamplesPerSecond(load),
                                               load.measured * static_cast<double>(kMostWorkers));
                for (StageId id : stages) {
                  StageDemand* stage = load.Find(id);
                  if (stage == nullptr) continue;
                  const double needed = std::ceil(wanted * stage->items * stage->service_s * size);
                  stage->own_threads = true;
                  // The most that the tuner may give a stage.
                  const double most = std::max({stage->workers, 2 * load.cores, kTunersLeastLimit});
                  stage->workers = std::clamp(needed, stage->workers, most);
                  stage->places = std::max(stage->places, stage->workers);
                }
              },
          .sizes = kTunedService,
          .side_by_side = true};
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  if (load == nullptr || !Worth(c, Category::kInputStall)) return;
  const std::vector<StageId> slow = TooSlow(c, *load);
  if (slow.size() < 2) return;
  const double share = Share(c, Category::kInputStall);
  std::string names;
  Patch patch;
  for (StageId id : slow) {
    names += (names.empty() ? "" : ", ") + NameOf(c, id);
    patch.changes.emplace_back(SetTo(NameOf(c, id) + ".parallelism", Knob::Auto()));
  }
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} stages are each too slow for the trainer: {}", slow.size(), names));
  for (StageId id : slow) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: at most {:.0f} samples/s, where the trainer could take {:.0f}",
                     NameOf(c, id), *UseOf(c, id)->capacity_samples_per_s,
                     ConsumerSamplesPerSecond(*load)));
  }
  Recommend(draft, "let the tuner choose their parallelism",
            c.spec.has_value() ? std::move(patch) : Patch(), Tuned(slow));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "autotune",
    .row = 5,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(ds = ds.map(fn, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE))py",
        .grain = R"py(config = grain.experimental.pick_performance_config(
    ds=ds, ram_budget_mb=8192, max_workers=16, max_buffer_size=64)
ds = ds.mp_prefetch(config.multiprocessing_options))py",
    }};

}  // namespace stallscope::findings::autotune
