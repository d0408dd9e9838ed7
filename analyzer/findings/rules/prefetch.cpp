// Row 12: no batches are prepared ahead of the trainer, or too few to cover bursts, on the host or
// on the device.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/graph.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::prefetch {
namespace {

// A DataLoader's workers and DALI's pipeline prepare two batches ahead by themselves.
constexpr Advice kFirst = {
    .tf_data = R"py(ds = ds.prefetch({value})  # or tf.data.AUTOTUNE; the last step)py",
    .pytorch =
        R"py(loader = DataLoader(dataset, batch_size, num_workers={value})  # workers prepare batches ahead)py",
    .grain = R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers={value})))py",
};

// Code for the end of a job's own graph.
constexpr Advice kInGraph = {.tf_data = R"py(ds = ds.prefetch({value})  # the last step)py"};

// Code for the number of batches that each replica's device holds.
constexpr Advice kOnDevice = {
    .tf_data =
        R"py(options = tf.distribute.InputOptions(experimental_per_replica_buffer_size={value})
ds = strategy.experimental_distribute_dataset(ds, options))py",
    .pytorch =
        R"py(ahead = collections.deque()  # of batches on their way to this replica's device
for images, labels in loader:  # with pin_memory=True
    ahead.append((images.to(device, non_blocking=True), labels.to(device, non_blocking=True)))
    if len(ahead) > {value}:
        train_step(*ahead.popleft()))py",
    .dali =
        R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=local_rank, prefetch_queue_depth={value})
def pipe(): ...)py",
    .grain = R"py(ds = grain.experimental.device_put(
    ds=ds, device=jax.local_devices()[0], cpu_buffer_size=4, device_buffer_size={value}))py",
};

Effect Ahead(int64_t batches) {
  return {.apply = [batches](Load& load, double) { PrepareAhead(load, batches); },
          .side_by_side = true};
}

// How long the trainer waited in each step, and how long a step takes otherwise.
struct StepWaits {
  std::vector<double> waits_s;
  double step_s = 0;

  // What is left of them with this many more batches ready: each hides one step's time.
  double LeftWith(double more) const {
    double all_s = 0;
    double left_s = 0;
    for (const double wait_s : waits_s) {
      all_s += wait_s;
      left_s += std::max(0.0, wait_s - more * step_s);
    }
    return all_s > 0 ? left_s / all_s : 0;
  }
};

StepWaits StepWaitsOf(const Case& c) {
  StepWaits bursts;
  for (const auto& step : c.attribution.steps) {
    const int64_t wait_ns = step.ns[At(Category::kInputStall)];
    bursts.waits_s.push_back(static_cast<double>(wait_ns) * 1e-9);
    bursts.step_s += static_cast<double>(step.end_ns - step.start_ns - wait_ns) * 1e-9;
  }
  bursts.step_s /= static_cast<double>(std::max<size_t>(bursts.waits_s.size(), 1));
  return bursts;
}

// Enough to cover the longest, as a power of two.
int64_t EnoughFor(const StepWaits& bursts, int64_t now) {
  int64_t places = kFirstPrefetch;
  const auto covers = [&] { return bursts.LeftWith(static_cast<double>(places - now)) <= 0; };
  while (places < kMostPrefetch && (places <= now || !covers())) places *= 2;
  return places;
}

Effect Deeper(StepWaits bursts, StageId stage, int64_t now, int64_t places) {
  return {[bursts = std::move(bursts), stage, now, places](Load& load, double filled) {
            StageDemand* use = load.Find(stage);
            if (use != nullptr) use->places = static_cast<double>(places);
            if (!load.burst_s.has_value()) return;
            *load.burst_s *= bursts.LeftWith(filled * static_cast<double>(places - now));
          },
          kFilledBeforeABurst};
}

void SetMemory(const Case& c, int64_t batches, Draft& draft) {
  CostsMemory(draft, BytesOfBatch(c) * static_cast<double>(batches));
}

// The last one that runs on the host.
StageId LastOnHost(const Case& c) {
  StageId last;
  for (StageId id : InOrder(c)) {
    const auto* map = As<MapSpec>(c, id);
    if (map == nullptr || map->on == MapOn::kHost) last = id;
  }
  return last;
}

Patch FirstPrefetch(const Case& c, StageId last) {
  Patch patch;
  const Spec* const spec = ChangeableSpec(c);
  if (spec == nullptr) return patch;
  if (model::IsJob(c.run)) return LoaderSetting(c, last, "prefetch", kFirstPrefetch);
  if (As<PrefetchSpec>(c, last) != nullptr) {
    return Setting(NameOf(c, last) + ".buffer_size", kFirstPrefetch);
  }
  StageSpec stage{FreshName(*spec, "prefetch"), PrefetchSpec{Knob{kFirstPrefetch, false}}};
  patch.changes.emplace_back(
      InsertChange{std::move(stage), Place::After(spec->stages.back().name)});
  return patch;
}

// The last stage runs in the trainer's thread.
void Missing(const Case& c, std::vector<Draft>& drafts) {
  const StageId last = LastOnHost(c);
  const attribution::StageUse* use = UseOf(c, last);
  if (use == nullptr || HasOwnThreads(c, last)) return;
  // The thread that feeds the device prepares batches ahead.
  if (c.spec.has_value() && c.spec->transfer.prefetch_to_device > 0) return;
  // A DataLoader works ahead if it has workers, which is for loader-workers to say.
  if (IsDataLoader(c, last) || JobLoaderOf(c, last) != nullptr) return;
  const double share = Share(c, Category::kInputStall);
  Draft draft = About(c, last, share,
                      fmt::format("no batches are prepared ahead: the trainer requests each one "
                                  "and then waits for it, for {} of its time",
                                  Percent(share)));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} runs in the trainer's thread", NameOf(c, last)));
  draft.args.value = std::to_string(kFirstPrefetch);
  draft.advice = &kFirst;
  Recommend(draft, fmt::format("prepare {} batches ahead", kFirstPrefetch), FirstPrefetch(c, last),
            Ahead(kFirstPrefetch));
  SetMemory(c, kFirstPrefetch, draft);
  drafts.push_back(std::move(draft));
}

// Of a job: each worker works further ahead.
void TooShallowInJob(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const double share = Blamed(c, stage.id, {Cause::kBuffer});
    const model::Loader* const loader = JobLoaderOf(c, stage.id);
    if (loader == nullptr || share < kModerateShare || !model::IsDataLoader(loader->info)) continue;
    const LoaderSpec now = model::LoaderSpecOf(loader->info);
    if (now.num_workers == 0) continue;
    const int64_t deeper = 2 * now.prefetch_factor;
    Draft draft =
        About(c, stage.id, share,
              fmt::format("{} of step time is lost to bursts that {} per worker cannot cover; "
                          "on average the input is fast enough",
                          Percent(share),
                          Counted(static_cast<uint64_t>(now.prefetch_factor), "batch", "batches")));
    draft.args.value = std::to_string(deeper);
    RecommendUnpriced(draft, fmt::format("let each worker prepare {} batches ahead", deeper),
                      LoaderSetting(c, stage.id, "prefetch_factor", deeper),
                      WasNotPredicted("what a deeper queue gains"));
    SetMemory(c, (deeper - now.prefetch_factor) * now.num_workers, draft);
    drafts.push_back(std::move(draft));
    return;
  }
}

// A job's tf.data graph ends without a prefetch, or with a short one.
void TooShallowInGraph(const Case& c, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const double share = Blamed(c, stage.id, {Cause::kBuffer});
    if (share < kModerateShare || stage.loader.value >= c.run.loaders.size()) continue;
    const trace::LoaderInfo& info = c.run.loaders[stage.loader.value].info;
    const auto graph = model::GraphOf(info);
    const bool of_keras = model::SettingsOf(info).contains("py_dataset");  // no call of the job's
    if (graph.empty() || graph.back().buffer == R"("autotune")" || of_keras) continue;
    const bool prefetches = model::BaseOf(graph.back().op) == "Prefetch";
    Draft draft =
        About(c, stage.id, share,
              fmt::format("{} of step time is lost to bursts that {} cannot cover; on average the "
                          "input is fast enough",
                          Percent(share),
                          prefetches ? "prefetch(" + graph.back().buffer + ")"
                                     : "a graph that does not end with prefetch()"));
    const int64_t deeper = std::max(kFirstPrefetch, 2 * model::LoaderSpecOf(info).prefetch);
    draft.args.value = "tf.data.AUTOTUNE";
    draft.advice = &kInGraph;
    RecommendUnpriced(draft, "prepare batches ahead: prefetch(tf.data.AUTOTUNE) as the last step",
                      LoaderSetting(c, stage.id, "prefetch", deeper),
                      WasNotPredicted("what a deeper queue gains"));
    SetMemory(c, kFirstPrefetch, draft);
    drafts.push_back(std::move(draft));
    return;
  }
}

// The capacity is there, and bursts empty the buffer.
void TooShallow(const Case& c, std::vector<Draft>& drafts) {
  const double share = BlamedOn(c, Cause::kBuffer);
  if (share < kModerateShare || !c.spec.has_value()) return;
  for (const auto& stage : c.run.stages) {
    const auto* prefetch = As<PrefetchSpec>(c, stage.id);
    if (prefetch == nullptr || prefetch->buffer_size.automatic) continue;
    const int64_t now = prefetch->buffer_size.value;
    StepWaits bursts = StepWaitsOf(c);
    const int64_t deeper = EnoughFor(bursts, now);
    if (deeper <= now) continue;
    Draft draft =
        About(c, stage.id, share,
              fmt::format("{} of step time is lost to bursts that {} in {} cannot cover; "
                          "on average the input is fast enough",
                          Percent(share), Counted(static_cast<uint64_t>(now), "batch", "batches"),
                          stage.name));
    Show(draft, Evidence::Kind::kQueue,
         fmt::format("{}: {}", stage.name, Counted(static_cast<uint64_t>(now), "place")));
    draft.args.value = std::to_string(deeper);
    if (deeper == kFirstPrefetch) draft.advice = &kFirst;
    Recommend(draft, fmt::format("let {} hold {} batches", stage.name, deeper),
              Setting(stage.name + ".buffer_size", deeper),
              Deeper(std::move(bursts), stage.id, now, deeper));
    SetMemory(c, deeper - now, draft);
    drafts.push_back(std::move(draft));
    return;
  }
}

// For a pipeline whose only buffer is on the device: each replica holds its part of each batch.
void TooShallowOnDevice(const Case& c, std::vector<Draft>& drafts) {
  const double share = BlamedOn(c, Cause::kBuffer);
  if (share < kModerateShare || !c.spec.has_value()) return;
  const int64_t now = c.spec->transfer.prefetch_to_device;
  if (now == 0 || FirstOf<PrefetchSpec>(*c.spec) < c.spec->stages.size()) return;
  StepWaits bursts = StepWaitsOf(c);
  const int64_t deeper = EnoughFor(bursts, now);
  if (deeper <= now) return;
  const auto replicas = static_cast<uint64_t>(c.spec->trainer.strategy.replicas);
  const std::string where =
      replicas > 1 ? fmt::format("each of {} devices", replicas) : "the device";
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("{} of step time is lost to bursts that {} on {} cannot cover; on average the "
                  "input is fast enough",
                  Percent(share), Counted(static_cast<uint64_t>(now), "batch", "batches"), where));
  Show(draft, Evidence::Kind::kQueue, fmt::format("transfer.prefetch_to_device: {}", now));
  draft.args.value = std::to_string(deeper);
  draft.advice = &kOnDevice;
  const double more = BytesOfBatch(c) * static_cast<double>(deeper - now);
  Recommend(draft,
            fmt::format("{}let {} hold {} batches", BeforeMoreDeviceMemory(c, more), where, deeper),
            Setting("transfer.prefetch_to_device", deeper),
            Deeper(std::move(bursts), StageId::None(), now, deeper));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  Missing(c, drafts);
  TooShallow(c, drafts);
  TooShallowOnDevice(c, drafts);
  TooShallowInJob(c, drafts);
  TooShallowInGraph(c, drafts);
}

}  // namespace

extern const Rule kRule = {
    .id = "prefetch",
    .row = 12,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = ds.prefetch({value})  # or tf.data.AUTOTUNE; the last step)py",
        .pytorch =
            R"py(loader = DataLoader(dataset, batch_size, num_workers=max(num_workers, 1),  # only workers
                    prefetch_factor={value})  # prepare batches ahead, so many each)py",
        .dali =
            R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0, prefetch_queue_depth={value})
def pipe(): ...)py",
        .grain = R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(
    num_workers=num_workers, per_worker_buffer_size={value})))py",
    }};

}  // namespace stallscope::findings::prefetch
