// Row 4: the workers of PyTorch's DataLoader. Without any, the trainer's own thread loads each
// batch. A profiler's file shows workers only from outside; a recorded job shows what they do.
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "analyzer/attribution/cold_start.h"
#include "analyzer/attribution/waiting_ops.h"
#include "analyzer/findings/restarts.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/mappers.h"
#include "analyzer/spec/ladder.h"

namespace stallscope::findings::loader_workers {
namespace {

// torchdata.nodes.
constexpr Advice kMapInThreads = {
    .pytorch = R"py(node = ParallelMapper(node, fn, num_workers={value}))py"};
constexpr Advice kMapInProcesses = {
    .pytorch = R"py(node = ParallelMapper(node, fn, num_workers={value}, method="process"))py"};

constexpr std::initializer_list<Cause> kAnyWork = {Cause::kCpu, Cause::kIo, Cause::kBlocked,
                                                   Cause::kUnknown};

// More than those that load now, each for this part of the time: enough to load within the rest of
// a step.
int64_t MoreWorkers(double share, int64_t now, double busy) {
  const double rest = std::max(kLeastRestOfStep, 1 - share);
  const double enough = std::ceil(static_cast<double>(now) * std::min(busy, 1.0) / rest);
  return std::min(std::max<int64_t>(2 * now, std::llround(enough)), kMostWorkers);
}

// An epoch that is short beside what starting workers takes, with a loader that would start them
// for each.
bool WorkersShouldStay(const trace::LoaderInfo& loader, const Passes& passes) {
  return passes.mean_ns > 0 && passes.mean_ns < kShortPassNs && !model::IsMadeAgain(loader) &&
         !model::LoaderSpecOf(loader).persistent_workers;
}

Patch SetWorkers(const Case& c, StageId stage, int64_t workers, bool stay) {
  Patch patch = LoaderSetting(c, stage, "num_workers", workers);
  if (stay && !patch.changes.empty()) {
    patch.changes.emplace_back(SetTo(JobLoaderOf(c, stage)->name + ".persistent_workers", true));
  }
  return patch;
}

// The fewest of those that are worth trying which are as fast as any of them, as a simulation has
// it; `by_law` without one. More than now, and at most `most`.
int64_t FewestAsFast(const Case& c, StageId stage, int64_t now, int64_t most, bool stay,
                     int64_t by_law) {
  if (!c.simulated) return by_law;
  std::vector<std::pair<int64_t, double>> rates;
  double fastest = 0;
  for (const int64_t workers : WorkersToTry(CoresOfRank(c))) {
    if (workers <= now || workers > most) continue;
    const Patch patch = SetWorkers(c, stage, workers, stay);
    const auto rate = patch.changes.empty() ? std::nullopt : c.simulated(patch);
    if (!rate) return by_law;
    rates.emplace_back(workers, *rate);
    fastest = std::max(fastest, *rate);
  }
  const auto fewest = std::find_if(rates.begin(), rates.end(), [&](const auto& workers) {
    return workers.second * kAlike >= fastest;
  });
  return fewest == rates.end() ? by_law : fewest->first;
}

// A stage has the workers of all ranks; a loader's setting is for one.
int64_t WorkersOfRank(const Case& c, StageId stage) {
  const int64_t ranks = RanksOf(c, stage);
  return (static_cast<int64_t>(UseOf(c, stage)->workers) + ranks - 1) / ranks;
}

// "2 workers", "2 workers on each of 4 ranks".
std::string NowWith(const Case& c, StageId stage) {
  const int64_t ranks = RanksOf(c, stage);
  return Counted(static_cast<uint64_t>(std::max<int64_t>(1, WorkersOfRank(c, stage))), "worker") +
         (ranks > 1 ? fmt::format(" on each of {} ranks", ranks) : "");
}

// The loader's workers are threads of the stage that fetches; they collate as well.
bool HasWorkers(const Case& c, StageId stage) {
  const LoaderId loader = c.run.stages[stage.value].loader;
  return std::any_of(c.run.stages.begin(), c.run.stages.end(), [&](const auto& other) {
    return other.loader == loader && other.kind == "map" && HasOwnThreads(c, other.id);
  });
}

// True if this is the loader's stage with the longest waits: the others would move along with it.
bool IsSlowest(const Case& c, StageId stage) {
  const LoaderId loader = c.run.stages[stage.value].loader;
  return std::none_of(c.run.stages.begin(), c.run.stages.end(), [&](const auto& other) {
    return other.loader == loader && other.id != stage &&
           Blamed(c, other.id, kAnyWork) > Blamed(c, stage, kAnyWork);
  });
}

// What a worker does for its batches: in its loop, or in threads that download their data.
bool RunsInWorkers(const Case& c, const trace::StageInfo& stage) {
  return stage.kind == "map" || stage.kind == "batch" ||
         (stage.kind == "source" && HasOwnThreads(c, stage.id));
}

// Workers that share a lock take turns: what all of these stages together let work at a time.
// Nothing if the trace shows no lock.
std::optional<int64_t> MostOfAll(const Case& c, const std::vector<StageId>& stages, int64_t now) {
  double work = 0;
  double held = 0;
  double waits = 0;
  for (const StageId stage : stages) {
    const attribution::StageUse& use = *UseOf(c, stage);
    const auto busy = static_cast<double>(use.busy_ns);
    work += busy;
    waits += static_cast<double>(use.lock_ns) + attribution::InFileLocks(use) * busy;
    const double part = use.held.value_or(0);
    held += part >= kHeldLock ? busy * part : 0;
  }
  if (held > 0) {
    // What a sample shows is a little off.
    return std::max<int64_t>(1, static_cast<int64_t>(std::floor(work / held + kHeldLock)));
  }
  return waits > kTakeTurns * work ? std::optional(now) : std::nullopt;
}

// "spends 59.2% of step time in fetch, including 41.7% without a core", which other settings of the
// loader do not change. `share` is of the rest.
std::string SpentIn(const Case& c, const std::vector<StageId>& stages, double share,
                    const std::string& name) {
  double lacks = 0;
  for (const StageId stage : stages) lacks += Blamed(c, stage, {Cause::kCpuContention});
  if (lacks < kModerateShare)
    return fmt::format("spends {} of step time in {}", Percent(share), name);
  return fmt::format("spends {} of step time in {}, including {} without a core",
                     Percent(share + lacks), name, Percent(lacks));
}

void ShowWork(const Case& c, const std::vector<StageId>& stages, Draft& draft) {
  for (const StageId stage : stages) {
    const attribution::StageUse& of = *UseOf(c, stage);
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per batch, {} of it on the CPU", NameOf(c, stage),
                     Duration(of.service_ns.mean),
                     Percent(of.busy_ns > 0
                                 ? static_cast<double>(of.cpu_ns) / static_cast<double>(of.busy_ns)
                                 : 0)));
  }
}

// How many times as long the stage worked on a batch in the first epoch as later; 1: not known.
double SlowerFirst(const Case& c, StageId stage) {
  const std::optional<int64_t> end_ns = attribution::EndOfFirstPass(c.run);
  if (!end_ns) return 1;
  std::array<double, 2> ns = {};
  std::array<double, 2> count = {};
  for (const model::Track& track : c.run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = c.run.ClassOf(track, i);
      const bool whole = what.kind == trace::SpanKind::kWork && what.name == trace::StringId();
      if (!whole || what.stage != stage) continue;
      const size_t later = track.spans.start_ns[i] < *end_ns ? 0 : 1;
      ns.at(later) += static_cast<double>(track.spans.DurationNs(i));
      ++count.at(later);
    }
  }
  return count[0] * ns[1] > 0 ? ns[0] / count[0] / (ns[1] / count[1]) : 1;
}

// What the data set keeps in its process, each worker keeps for itself. A cold page cache, which
// all of them share, looks alike if no counter shows it.
void ShowCaches(const Case& c, LoaderId loader, StageId stage, Draft& draft) {
  const auto& cold = c.attribution.window.cold;
  const double slower = SlowerFirst(c, stage);
  if (slower < kFillsCache || (cold && cold->cause == attribution::ColdCause::kPageCache)) return;
  const bool stay = model::LoaderSpecOf(c.run.loaders[loader.value].info).persistent_workers;
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{} took {} as long per batch in the first epoch: if the data set caches what "
                   "it loads, each worker has a cache of its own, which takes memory and more "
                   "epochs to fill{}",
                   NameOf(c, stage), words::Factor(slower),
                   stay ? "" : ", and is lost after each epoch without persistent_workers=True"));
}

bool SeveralFeed(const Case& c) {
  return std::count_if(c.run.loaders.begin(), c.run.loaders.end(),
                       [](const model::Loader& loader) { return loader.steps > 0; }) > 1;
}

// Each worker would have the threads that load now, and they would have to share the cores.
void RecommendWithoutThreads(const Case& c, StageId stage, int64_t workers, bool stay,
                             Draft& draft) {
  Show(draft, Evidence::Kind::kCounter,
       fmt::format("other threads of the process use {:.1f} cores while it loads: probably a math "
                   "library's, and each worker would have its own",
                   *c.attribution.cpu.beside_loading));
  Patch patch = SetWorkers(c, stage, workers, stay);
  patch.changes.emplace_back(SetTo("job.threads", int64_t{1}));
  RecommendUnpriced(
      draft,
      fmt::format("load in {} worker processes with one such thread each: "
                  "num_workers={}{}, and {}",
                  workers, workers, stay ? ", persistent_workers=True" : "", kOneMathThread),
      std::move(patch), std::string(kWithoutThreads));
}

// Recorded jobs: one finding for all stages of a loader that its workers run, or would run.
void CheckJob(const Case& c, LoaderId loader, std::vector<Draft>& drafts) {
  std::vector<StageId> stages;  // the slowest first
  double share = 0;
  double waiting = 0;
  double busy = 0;
  for (const auto& stage : c.run.stages) {
    if (stage.loader != loader || !RunsInWorkers(c, stage) || UseOf(c, stage.id) == nullptr ||
        !WorthAt(c, stage.id, kAnyWork)) {
      continue;
    }
    share += Blamed(c, stage.id, kAnyWork);
    waiting += Blamed(c, stage.id, {Cause::kIo, Cause::kBlocked});
    busy += UseOf(c, stage.id)->utilization;
    stages.push_back(stage.id);
  }
  if (stages.empty()) return;
  std::stable_sort(stages.begin(), stages.end(), [&](StageId a, StageId b) {
    return Blamed(c, a, kAnyWork) > Blamed(c, b, kAnyWork);
  });
  const bool has_workers = HasWorkers(c, stages.front());
  const int64_t now = has_workers ? WorkersOfRank(c, stages.front()) : 0;
  // Work on the CPU needs cores; waiting does not.
  const bool waits = waiting > share / 2;
  int64_t workers = has_workers ? MoreWorkers(share, now, busy) : WorkersToHide(share);
  if (!waits) workers = std::min(workers, CoresOfRank(c));
  int64_t most = kMostWorkers;
  // A worker without a shard is idle.
  if (const int64_t shards = ShardsOf(c.run.loaders[loader.value]); shards > 0) most = shards;
  const std::optional<int64_t> in_turns = MostOfAll(c, stages, now);
  const bool held_back = in_turns.has_value() && *in_turns < std::min(workers, most);
  most = std::min(most, in_turns.value_or(most));
  workers = std::min(workers, most);
  if (workers <= now) return;
  // A single one only works beside the trainer: it hides the shorter of the two.
  if (workers == 1 && std::min(share, 1 - share) < kModerateShare) return;
  const Passes passes = PassesOf(c, loader);
  const bool stay = WorkersShouldStay(c.run.loaders[loader.value].info, passes);
  workers = FewestAsFast(c, stages.front(), now, most, stay, workers);
  const std::string name = NamesOf(c, stages);
  Draft draft = About(
      c, stages.front(), share,
      has_workers
          ? fmt::format("{} of step time is spent waiting for {}, with {} busy {} of the time",
                        Percent(share), name, NowWith(c, stages.front()),
                        Percent(std::min(busy, 1.0)))
          : fmt::format("the job's own process {}: num_workers is 0",
                        SpentIn(c, stages, share, name)));
  ShowWork(c, stages, draft);
  for (const StageId stage : stages) {
    const std::string lock = SharedLockOf(c, stage);
    if (!held_back || lock.empty()) continue;
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of it holds {}, which all workers share: more of them would wait for "
                     "one another",
                     NameOf(c, stage), Percent(UseOf(c, stage)->held.value_or(0)), lock));
  }
  ShowCaches(c, loader, stages.front(), draft);
  draft.args.value = std::to_string(workers);
  if (RepeatsInWorkers(c.run.loaders[loader.value])) {
    draft.advice = &kDivideStream;
    RecommendUnpriced(
        draft,
        fmt::format("divide the data set among its workers (get_worker_info()), each of "
                    "which would otherwise yield all of it, and load in {} of them",
                    workers),
        Patch(), "stallscope cannot change the code of the data set");
    drafts.push_back(std::move(draft));
    return;
  }
  if (passes.OnePerStep()) {
    RecommendOneIterator(draft);
    drafts.push_back(std::move(draft));
    return;
  }
  if (!has_workers && attribution::IsLeftToPools(c.attribution.stages, stages)) {
    draft.args.value = std::to_string(std::min(workers, CoresOfRank(c)));
    RecommendUnpriced(
        draft,
        "load in worker processes (num_workers) that do themselves what the job's pool does now: a "
        "pool that was made before they start does not work in them",
        Patch(), kOwnPool);
    drafts.push_back(std::move(draft));
    return;
  }
  if (!has_workers && c.attribution.cpu.LoadsInThreads()) {
    RecommendWithoutThreads(c, stages.front(), workers, stay, draft);
    drafts.push_back(std::move(draft));
    return;
  }
  if (stay) draft.advice = &kLoadInWorkersThatStay;
  RecommendUnpriced(
      draft,
      fmt::format("load in {}{}: num_workers={}{}",
                  Counted(static_cast<uint64_t>(workers), "worker process", "worker processes"),
                  stay ? " that stay from one epoch to the next" : "", workers,
                  stay ? ", persistent_workers=True" : ""),
      SetWorkers(c, stages.front(), workers, stay),
      WasNotPredicted(SeveralFeed(c) ? "of several loaders, what the workers of one gain"
                                     : "what more workers cost and gain"));
  drafts.push_back(std::move(draft));
}

bool IsLike(const trace::LoaderInfo& a, const trace::LoaderInfo& b) {
  return !a.file.empty() && std::tie(a.file, a.line, a.kind, a.dataset, a.settings_json) ==
                                std::tie(b.file, b.line, b.kind, b.dataset, b.settings_json);
}

// Those that feed no steps and are alike: transformers' Trainer constructs one for each evaluation.
// Each group stands at its first one; empty for others.
std::vector<std::vector<LoaderId>> LoadersToEvaluate(const Case& c) {
  const auto& loaders = c.run.loaders;
  std::vector<std::vector<LoaderId>> groups(loaders.size());
  for (uint32_t i = 0; i < loaders.size(); ++i) {
    if (loaders[i].steps > 0 || !model::IsDataLoader(loaders[i].info)) continue;
    uint32_t first = 0;
    while (first < i && (groups[first].empty() || !IsLike(loaders[first].info, loaders[i].info))) {
      ++first;
    }
    groups[first].push_back({i});
  }
  return groups;
}

// Loaders that the job evaluates with, without workers: the steps wait meanwhile, although no stall
// shows it.
void CheckEvaluation(const Case& c, const std::vector<LoaderId>& loaders,
                     std::vector<Draft>& drafts) {
  if (loaders.empty()) return;
  const auto beside =
      std::find_if(c.attribution.beside.begin(), c.attribution.beside.end(),
                   [](const attribution::BesideUse& use) { return use.name == "evaluation"; });
  if (beside == c.attribution.beside.end()) return;
  std::vector<StageId> stages;
  double share = 0;
  double on_cpu = 0;  // or ready to be
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* const use = UseOf(c, stage.id);
    const bool theirs = std::find(loaders.begin(), loaders.end(), stage.loader) != loaders.end();
    if (!theirs || use == nullptr || use->elements == 0 || !RunsInWorkers(c, stage)) continue;
    if (!model::IsTrainer(c.run, use->runs_in)) return;
    share += use->utilization;
    on_cpu += use->utilization * static_cast<double>(use->cpu_ns + use->contention_ns) /
              std::max(1.0, static_cast<double>(use->busy_ns));
    if (stages.empty() || c.run.stages[stages.front().value].loader == stage.loader) {
      stages.push_back(stage.id);
    }
  }
  if (stages.empty() || share < kModerateShare || beside->fraction < kModerateShare) return;
  // Workers load while the loop computes, or wait beside one another.
  const double of_all = std::min(share, beside->fraction) / beside->fraction;
  int64_t workers = std::min(WorkersToHide(of_all), kMostToEvaluate);
  if (on_cpu > share / 2) workers = std::min(workers, CoresOfRank(c));
  if (workers == 1 && beside->fraction - share < kModerateShare) return;
  Draft draft =
      About(c, stages.front(), share,
            fmt::format("evaluation takes {} of the time, and {} of it goes to {}{} in the "
                        "job's own process: num_workers is 0",
                        Percent(beside->fraction), Percent(of_all), NamesOf(c, stages),
                        loaders.size() == 1 ? ""
                                            : fmt::format(", and to those of {} like it,",
                                                          Counted(loaders.size() - 1, "loader"))));
  ShowWork(c, stages, draft);
  draft.args.value = std::to_string(workers);
  RecommendUnpriced(draft,
                    fmt::format("load in {} worker processes: num_workers={}; with "
                                "persistent_workers=True they stay from one evaluation to the next",
                                workers, workers),
                    LoaderSetting(c, stages.front(), "num_workers", workers),
                    WasNotPredicted("what they cost and gain"));
  drafts.push_back(std::move(draft));
}

constexpr std::string_view kIfFlagsAreParsed =
    ", which grain starts only if the job has parsed absl's flags (absl.app.run)";

// What a loader of another library loads with, and what it is called there.
struct Helpers {
  std::string_view knob;
  std::string_view name;
  int64_t now = 0;
};

// Whether a chain of torchdata's nodes works in what a ParallelMapper calls, and not in its source.
bool MapsMost(const attribution::StageUse& use, const model::Mapper& mapper) {
  double mapped = 0;
  double all = 0;
  for (const attribution::OpUse& op : use.ops) {
    if (model::Calls(mapper, op.file, op.line)) mapped += static_cast<double>(op.whole_ns);
    all += static_cast<double>(op.ns);
  }
  return mapped > all / 2;
}

// Threads share the trainer's interpreter lock: they help where the work waits, unless there are
// some and the trainer's own thread does it nevertheless. Nothing if the loader has no such
// setting.
std::optional<Helpers> HelpersOf(const model::Loader& loader, const attribution::StageUse& use,
                                 bool waits, bool alone) {
  const LoaderSpec spec = model::LoaderSpecOf(loader.info);
  const auto mapper = model::MapperOf(loader.info);
  if (mapper && !MapsMost(use, *mapper)) return std::nullopt;
  const auto has = [&](std::string_view knob) {
    return std::find(spec.knobs.begin(), spec.knobs.end(), knob) != spec.knobs.end();
  };
  const bool in_threads = waits && spec.num_workers == 0 && !(alone && spec.threads > 0);
  if (has("threads") && in_threads) return Helpers{"threads", "threads", spec.threads};
  if (has("num_workers")) return Helpers{"num_workers", "processes", spec.num_workers};
  return std::nullopt;
}

// Elements that threads may read ahead: less than two batches would not hide the loading of one
// behind the step on the other. 0: the buffer has room for as many.
int64_t BufferFor(const Case& c, const model::Loader& loader) {
  double samples = 0;
  for (const auto& step : c.attribution.steps) samples += step.samples;
  samples /= static_cast<double>(std::max<size_t>(1, c.attribution.steps.size()));
  const auto wanted = static_cast<int64_t>(std::ceil(2 * samples));
  return model::LoaderSpecOf(loader.info).prefetch >= wanted ? 0 : wanted;
}

// For a stage of a loop without a DataLoader: the job itself decides which thread makes its
// batches, unless its library has a setting for that.
void CheckLoop(const Case& c, StageId stage, const model::Loader& loader,
               std::vector<Draft>& drafts) {
  const attribution::StageUse& use = *UseOf(c, stage);
  if (!IsSlowest(c, stage)) return;
  const bool alone = model::IsTrainer(c.run, use.runs_in);
  const double share = Blamed(c, stage, kAnyWork);
  const bool waits = Blamed(c, stage, {Cause::kIo, Cause::kBlocked}) > share / 2;
  const std::optional<Helpers> helpers = HelpersOf(loader, use, waits, alone);
  // Those of grain that read ahead share the interpreter lock; its processes are another call.
  const bool can_start_processes = !alone && !waits && model::IsGrain(loader.info);
  if (!alone && !helpers && !can_start_processes) return;
  const int64_t now = alone || !helpers ? 0 : helpers->now;
  int64_t wanted = now == 0 ? WorkersToHide(share) : MoreWorkers(share, now, use.utilization);
  if (!waits) {
    wanted = std::min(wanted, CoresOfRank(c));
  }
  if (wanted <= now || (can_start_processes && wanted < 2)) return;
  const std::string name = NameOf(c, stage);
  Draft draft = About(
      c, stage, share,
      alone ? fmt::format("the trainer's own thread spends {} of step time in {}: nothing "
                          "prepares batches ahead",
                          Percent(share), name)
            : fmt::format("{} of step time is spent waiting for {}, with {} busy {} of the time",
                          Percent(share), name, NowWith(c, stage),
                          Percent(std::min(use.utilization, 1.0))));
  const double burned =
      use.busy_ns > 0 ? static_cast<double>(use.cpu_ns) / static_cast<double>(use.busy_ns) : 0;
  // Threads of a library may make single elements.
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {}{} of it on the CPU", name,
                   alone ? Duration(use.service_ns.mean) + " per batch, " : "", Percent(burned)));
  draft.args.value = std::to_string(wanted);
  if (helpers) {
    if (model::MapperOf(loader.info)) {
      draft.advice = helpers->knob == "threads" ? &kMapInThreads : &kMapInProcesses;
    }
    std::string what = fmt::format("load in {} {}", wanted, helpers->name);
    if (now == 0 && helpers->knob == "num_workers" && model::IsGrain(loader.info)) {
      what += kIfFlagsAreParsed;
    }
    Patch patch = LoaderSetting(c, stage, helpers->knob, wanted);
    const bool reads = helpers->knob == "threads" && model::IsGrain(loader.info);
    if (const int64_t buffer = reads ? BufferFor(c, loader) : 0; buffer > 0) {
      what += fmt::format(", up to {} elements ahead", buffer);
      const Patch ahead = LoaderSetting(c, stage, "prefetch", buffer);
      patch.changes.insert(patch.changes.end(), ahead.changes.begin(), ahead.changes.end());
    }
    RecommendUnpriced(draft, what, std::move(patch),
                      WasNotPredicted(fmt::format("what more {} cost and gain", helpers->name)));
  } else if (can_start_processes) {
    RecommendUnpriced(draft,
                      fmt::format("load in {} processes{}: threads share the trainer's "
                                  "interpreter lock",
                                  wanted, kIfFlagsAreParsed),
                      Patch(), WasNotPredicted("what processes cost and gain"));
  } else if (attribution::IsLeftToPools(c.attribution.stages, {stage})) {
    RecommendUnpriced(draft,
                      "ask the job's pool for the next batches before they are needed, or give it "
                      "more workers",
                      Patch(), kOwnPool);
  } else {
    RecommendUnpriced(draft,
                      waits ? "prepare the next batches in a background thread: the work is mostly "
                              "waiting"
                            : "prepare the next batches in other processes: a thread would share "
                              "the trainer's interpreter lock",
                      Patch(), "stallscope cannot change how the job's own loop loads its data");
  }
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const std::vector<std::vector<LoaderId>> to_evaluate = LoadersToEvaluate(c);
  for (uint32_t i = 0; i < c.run.loaders.size(); ++i) {
    if (model::IsDataLoader(c.run.loaders[i].info)) CheckJob(c, {i}, drafts);
    CheckEvaluation(c, to_evaluate[i], drafts);
  }
  for (const auto& stage : c.run.stages) {
    if (const model::Loader* loader = JobLoaderOf(c, stage.id);
        loader != nullptr && UseOf(c, stage.id) != nullptr && !model::IsDataLoader(loader->info) &&
        (stage.kind == "map" || stage.kind == "batch") && WorthAt(c, stage.id, kAnyWork)) {
      CheckLoop(c, stage.id, *loader, drafts);
    }
    if (!IsDataLoader(c, stage.id) || !WorthAt(c, stage.id, kAnyWork)) continue;
    const attribution::StageUse* use = UseOf(c, stage.id);
    const double share = Blamed(c, stage.id, kAnyWork);
    if (use != nullptr && use->elements > 0) {
      const int64_t workers = WorkersToHide(share);
      Draft draft = About(
          c, stage.id, share,
          fmt::format(
              "the trainer's own thread spends {} of step time loading batches: num_workers is 0",
              Percent(share)));
      Show(draft, Evidence::Kind::kSpans,
           fmt::format("{}: {} per batch, {}", stage.name, Duration(use->service_ns.mean),
                       Counted(use->elements, "batch", "batches")));
      draft.args.value = WorkersInCode(c, workers);
      Recommend(draft,
                fmt::format("load in worker processes: num_workers={}{}", workers, UpToTheCores(c)),
                StageSetting(c, stage.id, "parallelism", workers), WithWorkers(stage.id, workers));
      drafts.push_back(std::move(draft));
      continue;
    }
    // Workers that are restarted are another rule's, and more of them would not help.
    const double waited = share - RestartsOf(c, stage.id).waited;
    if (waited < kModerateShare) continue;
    Draft draft = About(c, stage.id, waited,
                        fmt::format("{} of step time is spent waiting for the {}, whose workers "
                                    "are processes that this file does not show",
                                    Percent(waited), stage.name));
    draft.args.value = "2 * num_workers";
    RecommendUnpriced(
        draft, "give it more workers (num_workers)", Patch(),
        "the file shows the loader only from the outside: to see what its workers do, profile "
        "them, too, or profile the same loop with num_workers=0");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "loader-workers",
    .row = 4,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers={value}))py",
        .grain =
            R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers={value}))  # last)py",
    }};

}  // namespace stallscope::findings::loader_workers
