#include "analyzer/attribution/system_use.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribution/beside.h"
#include "analyzer/attribution/intervals.h"
#include "analyzer/base/units.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::attribution {
namespace {

// A file may contain any number: one that cannot be a count is unknown.
std::optional<uint64_t> Count(std::optional<double> value) {
  constexpr double kMost = 9e18;
  if (!value.has_value() || !(*value >= 0 && *value < kMost)) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

// The union of the track's spans that count.
template <class Counts>
Intervals SpansOf(const model::Run& run, const model::Track& track, const Window& window,
                  Counts&& counts) {
  Intervals spans;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    if (counts(run.ClassOf(track, i))) {
      spans.push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  return UnionWithin(std::move(spans), {window.start_ns, window.end_ns});
}

Intervals PipelineWork(const model::Run& run, const model::Track& track, const Window& window) {
  return SpansOf(run, track, window, [&](const trace::SpanClass& what) {
    return what.kind == trace::SpanKind::kWork && what.stage.known() &&
           !model::IsTrainer(run, what.stage);
  });
}

// Without its waits for the stages before it, which are within a caller's work.
double WorkedNs(const model::Run& run, const model::Track& track, const Window& window) {
  const Intervals waits = SpansOf(run, track, window, [](const trace::SpanClass& what) {
    return what.kind == trace::SpanKind::kWait;
  });
  return static_cast<double>(Length(SubtractAll(PipelineWork(run, track, window), waits)));
}

// The pipeline work of the trainer's thread is on a track of the profile, which has no CPU times:
// they are on the recorder's track of the same thread, and include what the trainer does itself.
void TakeTrainersTimes(const model::Run& run, const Window& window, const CounterRates& counters,
                       std::vector<ThreadTime>& times) {
  std::map<ProcessId, size_t> trainers;
  const auto trains = [&](size_t i) {
    const trace::TrackInfo& info = run.tracks[i].info;
    return info.kind == trace::TrackKind::kThread && info.process.known() &&
           model::IsTrainer(run, info.stage);
  };
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    if (trains(i) && times[i].on_cpu_ns.has_value()) {
      trainers.try_emplace(run.tracks[i].info.process, i);
    }
  }
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    if (!trains(i) || times[i].on_cpu_ns.has_value()) continue;
    const auto recorded = trainers.find(run.tracks[i].info.process);
    if (recorded == trainers.end()) continue;
    ThreadTime& time = times[i];
    time = times[recorded->second];
    time.trains = time.beside = true;
    const Intervals work = PipelineWork(run, run.tracks[i], window);
    const auto within = [&](const char* what) -> std::optional<double> {
      const trace::TrackInfo& info = run.tracks[recorded->second].info;
      const auto rate = counters.RateWithin(NameOfThread(info, what), run.tracks[i].rank, work);
      if (!rate.has_value()) return std::nullopt;
      return *rate * static_cast<double>(Length(work));
    };
    const auto on_cpu_ns = within(".on_cpu");
    const auto run_wait_ns = within(".run_wait");
    if (!on_cpu_ns.has_value()) continue;
    time.on_cpu_ns = on_cpu_ns;
    if (time.run_wait_ns.has_value()) time.run_wait_ns = run_wait_ns.value_or(0);
    time.beside = false;
  }
}

// The fraction of the other threads' work that falls into this track's work for the pipeline:
// TensorFlow's threads compute what a node calls while the caller waits.
double PartForPipeline(const model::Run& run, size_t track, const Window& window) {
  const model::Track& trainer = run.tracks[track];
  const Intervals own = PipelineWork(run, trainer, window);
  int64_t all = 0;
  int64_t beside = 0;
  for (const model::Track& other : run.tracks) {
    // A thread's work outside of stages is on a separate track.
    const bool thread = other.info.kind == trace::TrackKind::kThread ||
                        other.info.kind == trace::TrackKind::kDetail;
    if (!thread || other.info.process != trainer.info.process ||
        other.info.thread == trainer.info.thread || model::IsTrainer(run, other.info.stage)) {
      continue;
    }
    const Intervals at_work = SpansOf(run, other, window, [](const trace::SpanClass& what) {
      return what.activity == trace::SpanActivity::kFunction ||
             what.activity == trace::SpanActivity::kOperator;
    });
    all += Length(at_work);
    beside += Length(SubtractAll(at_work, own));
  }
  return all > 0 ? 1 - static_cast<double>(beside) / static_cast<double>(all) : 0;
}

// A profile numbers some threads differently from the kernel. Their total time on a core is known;
// it is divided among them in proportion to their work. If only the trainer's thread runs the
// pipeline, that thread gets the pipeline's part.
void ShareOutPools(const model::Run& run, const Window& window, const CounterRates& counters,
                   std::vector<ThreadTime>& times) {
  std::map<ProcessId, std::vector<std::pair<size_t, double>>> pools;
  std::map<ProcessId, double> worked;
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const trace::TrackInfo& info = run.tracks[i].info;
    const bool pooled = info.kind == trace::TrackKind::kThread && info.process.known() &&
                        info.stage.known() && !model::IsTrainer(run, info.stage);
    if (!pooled || times[i].on_cpu_ns.has_value()) continue;
    const double ns = WorkedNs(run, run.tracks[i], window);
    pools[info.process].emplace_back(i, ns);
    worked[info.process] += ns;
  }
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const ProcessId process = run.tracks[i].info.process;
    if (!times[i].trains || worked[process] > 0) continue;
    pools[process] = {{i, PartForPipeline(run, i, window)}};
  }
  for (const auto& [process, tracks] : pools) {
    const std::string of = "process" + std::to_string(run.processes[process.value].pid);
    const auto in_window = [&, rank = run.tracks[tracks.front().first].rank](
                               const std::string& name) -> std::optional<double> {
      const auto rate = counters.Rate(of + name, rank);
      if (!rate.has_value()) return std::nullopt;
      return *rate * static_cast<double>(window.ns());
    };
    const auto on_cpu = in_window(".pool_on_cpu");
    const auto run_wait = in_window(".pool_run_wait");
    if (!on_cpu || !run_wait) continue;
    for (const auto& [track, share] : tracks) {
      ThreadTime& time = times[track];
      if (worked[process] > 0) {
        time = {*on_cpu * share / worked[process], *run_wait * share / worked[process]};
      } else if (time.on_cpu_ns) {
        time.called_ns = *on_cpu * share;
        *time.on_cpu_ns += time.called_ns;
        if (time.run_wait_ns) *time.run_wait_ns += *run_wait * share;
      }
    }
  }
}

}  // namespace

std::vector<ThreadTime> TimesOfThreads(const model::Run& run, const Window& window,
                                       const CounterRates& counters) {
  std::vector<ThreadTime> times(run.tracks.size());
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const model::Track& track = run.tracks[i];
    const trace::SpanColumns& spans = track.spans;
    if (track.info.thread == 0 || spans.size() == 0) continue;
    const auto in_window = [&](const std::string& name) -> std::optional<double> {
      const auto rate = counters.Rate(name, track.rank);
      const auto sampled = counters.Sampled(name, track.rank);
      if (!rate.has_value() || !sampled.has_value()) return std::nullopt;
      // The thread also lived before its first sample and after its last one.
      const int64_t first = std::min(sampled->start_ns, spans.start_ns[0]);
      const int64_t last = std::max(sampled->end_ns, spans.EndNs(spans.size() - 1));
      const int64_t lived = std::min(last, window.end_ns) - std::max(first, window.start_ns);
      return *rate * static_cast<double>(std::max<int64_t>(0, lived));
    };
    times[i] = {in_window(NameOfThread(track.info, ".on_cpu")),
                in_window(NameOfThread(track.info, ".run_wait"))};
  }
  if (run.imported() && !run.processes.empty()) {
    TakeTrainersTimes(run, window, counters, times);
    ShareOutPools(run, window, counters, times);
  }
  return times;
}

namespace {

std::set<TrackId> TrainersOf(const model::Run& run, const Window& window) {
  std::set<TrackId> trainers;
  for (size_t row = window.first_row; row < window.first_row + window.rows; ++row) {
    const TrackId track = run.rows.steps[row].track;
    if (track.known()) trainers.insert(track);
  }
  return trainers;
}

// The mean of the ranks' trainers.
std::optional<double> RunWaitOfTrainers(const model::Run& run, const std::set<TrackId>& trainers,
                                        const CounterRates& counters) {
  double sum = 0;
  for (const TrackId id : trainers) {
    const model::Track& track = run.tracks[id.value];
    const auto rate = counters.Rate(NameOfThread(track.info, ".run_wait"), track.rank);
    if (!rate.has_value()) return std::nullopt;
    sum += *rate;
  }
  if (trainers.empty()) return std::nullopt;
  return std::min(1.0, sum / static_cast<double>(trainers.size()));
}

bool FeedsSteps(const model::Loader& loader) {
  return loader.steps > 0 && model::IsDataLoader(loader.info);
}

// The processes of a DataLoader that feeds the steps: its workers, or without any the one that
// iterates over it.
std::set<ProcessId> ProcessesThatLoad(const model::Run& run) {
  std::set<ProcessId> load;
  for (const model::Loader& loader : run.loaders) {
    const bool itself = model::LoaderSpecOf(loader.info).num_workers == 0;
    if (FeedsSteps(loader) && itself) load.insert(loader.info.process);
  }
  for (const model::Track& track : run.tracks) {
    if (!track.info.stage.known()) continue;
    const LoaderId loader = run.stages[track.info.stage.value].loader;
    if (loader.value < run.loaders.size() && FeedsSteps(run.loaders[loader.value])) {
      load.insert(track.info.process);
    }
  }
  std::erase_if(load, [&](ProcessId id) { return id.value >= run.processes.size(); });
  return load;
}

// Of the window, what the trainer does with its batches, and beside its steps.
double PartOfTraining(const model::Run& run, const Window& window) {
  Intervals trains = TimesBesideSteps(run, run.info.rank);
  for (size_t row = window.first_row; row < window.first_row + window.rows; ++row) {
    trains.push_back({run.rows.steps[row].received_ns, run.rows.steps[row].device_done_ns});
  }
  trains = UnionWithin(std::move(trains), {window.start_ns, window.end_ns});
  return static_cast<double>(Length(trains)) / static_cast<double>(window.ns());
}

// A process that uses less of a core for loading does not load.
constexpr double kLoads = 0.1;

// Sets what the processes of a DataLoader used to load. One that trains, too, does one or the
// other.
void TakeLoading(const model::Run& run, const Window& window, const CounterRates& counters,
                 CpuUse& use) {
  if (run.imported() || window.rows == 0 || window.ns() <= 0 || !run.step_ranks.empty()) return;
  const std::set<ProcessId> load = ProcessesThatLoad(run);
  std::map<ProcessId, double> used;  // cores, by recorded threads
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread || !load.contains(track.info.process))
      continue;
    used[track.info.process] +=
        counters.RateOverWindow(NameOfThread(track.info, ".on_cpu"), track.rank).value_or(0);
  }
  const TrackId trainer = run.rows.steps[window.first_row].track;
  const ProcessId trains =
      trainer.known() ? run.tracks[trainer.value].info.process : ProcessId::None();
  double loading = 0;
  double beside = 0;
  for (const ProcessId process : load) {
    const auto all = counters.RateOverWindow(
        "process" + std::to_string(run.processes[process.value].pid) + ".cpu", run.info.rank);
    const double training = process == trains ? PartOfTraining(run, window) : 0;
    const double loads = used[process] - training;
    if (!all || loads < kLoads) continue;
    loading += loads;
    // While it trains, other threads may use all of the other cores.
    beside += std::max(0.0, *all - used[process] - training * std::max(0.0, use.cores - 1));
  }
  if (loading == 0) return;
  use.loading = loading;
  use.beside_loading = beside;
}

// Of the trainer's waits for a core, the input's part: as it has of all cores that the trainer does
// not use.
std::optional<double> TakenByInput(const model::Run& run, const std::set<TrackId>& trainers,
                                   const CounterRates& counters, const CpuUse& use) {
  if (run.imported() || !run.step_ranks.empty() || !use.trainer_run_wait || !use.process_busy) {
    return std::nullopt;
  }
  double input = 0;
  double training = 0;
  for (const model::Track& track : run.tracks) {
    const trace::TrackInfo& info = track.info;
    if (info.kind != trace::TrackKind::kThread) continue;
    const bool trains = trainers.contains(info.id);
    if (!trains && (!info.stage.known() || model::IsTrainer(run, info.stage))) continue;
    (trains ? training : input) +=
        counters.RateOverWindow(NameOfThread(info, ".on_cpu"), track.rank).value_or(0);
  }
  if (input == 0) return 0;
  const double others =
      use.others.value_or(0) * std::max<double>(run.info.host.cores_online, use.cores);
  return *use.trainer_run_wait * input / std::max(input, *use.process_busy + others - training);
}

// What all cores did, and what the hypervisor took, without what this program burned. Of a machine
// with more cores than the run may use, its share.
std::optional<double> PartOfOthers(const trace::HostInfo& host, const std::optional<double>& busy,
                                   const CpuUse& use) {
  if (!busy.has_value() || !use.process_busy.has_value() || use.cores <= 0) return std::nullopt;
  const double online = std::max<double>(host.cores_online, use.cores);
  const double stolen = use.steal.value_or(0) * online;
  return std::clamp((*busy + stolen - *use.process_busy) / online, 0.0, 1.0);
}

}  // namespace

CpuUse UseOfCpu(const model::Run& run, const Window& window, const CounterRates& counters) {
  CpuUse use;
  const trace::HostInfo& host = run.info.host;
  use.cores = host.cores_allowed > 0 ? host.cores_allowed : host.cores_online;
  if (host.cgroup_cores > 0) {
    use.cores = use.cores > 0 ? std::min(use.cores, host.cgroup_cores) : host.cgroup_cores;
  }
  const uint32_t rank = run.info.rank;
  const auto user = counters.Rate("process.cpu_user", rank);
  const auto system = counters.Rate("process.cpu_system", rank);
  if (user.has_value() && system.has_value()) use.process_busy = *user + *system;
  use.run_wait = counters.Rate("process.run_wait", rank);
  // A job has several processes, and only its threads are counted.
  if (!use.run_wait.has_value()) use.run_wait = counters.RateOfThreads("run_wait", rank);
  const std::set<TrackId> trainers = TrainersOf(run, window);
  use.trainer_run_wait = RunWaitOfTrainers(run, trainers, counters);
  TakeLoading(run, window, counters, use);
  use.throttled = counters.Rate("cgroup.throttled", rank);
  use.steal = counters.Rate("cpu.steal", rank);
  if (use.steal.has_value() && host.cores_online > 0) *use.steal /= host.cores_online;
  use.others_are_ranks = run.ranks_of_host > 0;
  if (!use.others_are_ranks || run.step_ranks.empty()) {
    use.others = PartOfOthers(host, counters.Rate("cpu.busy", rank), use);
  }
  use.taken_by_input = TakenByInput(run, trainers, counters, use);
  const auto per_second = [&](std::string_view name) {
    auto rate = counters.Rate(name, rank);
    if (rate.has_value()) *rate *= static_cast<double>(kNsPerSecond);
    return rate;
  };
  use.read_bytes_per_s = per_second("io.requested");
  use.disk_bytes_per_s = per_second("io.from_disk");
  return use;
}

namespace {

bool IsMap(const model::Run& run, StageId stage) { return run.stages[stage.value].kind == "map"; }

bool IsBatch(const model::Run& run, StageId stage) {
  return run.stages[stage.value].kind == "batch";
}

// In a batch as its stage assembles it; 0 if the run does not show it.
uint64_t BytesOfSample(const model::Run& run, const std::vector<StageUse>& stages) {
  for (const StageUse& stage : stages) {
    if (!IsBatch(run, stage.stage) || stage.elements == 0) continue;
    return Count(static_cast<double>(stage.bytes) / static_cast<double>(stage.elements) *
                 stage.items_per_sample)
        .value_or(0);
  }
  return 0;
}

}  // namespace

MemoryUse UseOfMemory(const model::Run& run, const CounterRates& counters,
                      const std::vector<StageUse>& stages) {
  MemoryUse use;
  if (run.info.device.peak_memory_bytes != 0) {
    use.device_peak_bytes = run.info.device.peak_memory_bytes;
  }
  use.peak_rss_bytes =
      std::max(Count(counters.Most("memory.peak")), Count(counters.Most("memory.rss")));
  use.growth_bytes_per_s =
      counters.SteadyGrowth("memory.rss").value_or(0) * static_cast<double>(kNsPerSecond);
  use.available_bytes = Count(counters.Least("memory.available"));
  const trace::HostInfo& host = run.info.host;
  use.limit_bytes = host.memory_limit_bytes > 0 ? host.memory_limit_bytes : host.memory_bytes;

  // A cache holds what it was filled with in one epoch.
  std::map<StageId, std::map<uint32_t, uint64_t>> filled;
  for (const trace::CacheEvent& event : run.rows.cache_events) {
    if (event.op == trace::CacheOp::kFill) filled[event.stage][event.epoch] += event.bytes;
  }
  for (const auto& [stage, epochs] : filled) {
    uint64_t most = 0;
    for (const auto& [epoch, bytes] : epochs) most = std::max(most, bytes);
    if (stage.known()) use.stages.push_back({stage, most});
  }
  // A queue holds what came from the stage before: its depth times an element's bytes.
  const uint64_t of_sample = BytesOfSample(run, stages);
  for (const StageUse& stage : stages) {
    if (!stage.queue.has_value() || stage.queue->capacity == 0) continue;
    const StageUse* from = &stage;
    bool mapped = false;
    for (size_t links = 0; from->bytes == 0 && links < stages.size(); ++links) {
      mapped = mapped || IsMap(run, from->stage);
      const auto& inputs = run.stages[from->stage.value].inputs;
      if (inputs.empty() || !inputs.front().known()) break;
      from = &stages[inputs.front().value];
    }
    if (from->bytes == 0 || from->elements == 0) continue;
    // What a map leaves is not recorded, and a decoded image is not the size of its file: the
    // samples of a batch are.
    const bool sample = mapped && of_sample > 0 && !IsBatch(run, from->stage);
    const uint64_t each = sample ? of_sample : from->bytes / from->elements;
    use.stages.push_back({stage.stage, stage.queue->capacity * each});
  }
  return use;
}

std::vector<ProcessUse> UseOfProcesses(const model::Run& run) {
  // What a counter has grown by; one that starts again counts on.
  struct Series {
    double last = 0;
    double grown = 0;
    double most = 0;
    bool seen = false;
  };
  std::vector<ProcessUse> uses;
  for (const trace::ProcessInfo& process : run.processes) uses.emplace_back().process = process.id;
  if (uses.empty()) return uses;
  std::vector<Series> series(run.counters.size());
  for (const trace::Sample& sample : run.rows.samples) {
    if (!sample.counter.known() || !run.counters[sample.counter.value].process.known()) continue;
    Series& of = series[sample.counter.value];
    of.grown += sample.value >= of.last ? sample.value - of.last : sample.value;
    of.last = sample.value;
    of.most = std::max(of.most, sample.value);
    of.seen = true;
  }
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series[i].seen) continue;
    const trace::CounterInfo& counter = run.counters[i];
    ProcessUse& use = uses[counter.process.value];
    const std::optional<uint64_t> grown = Count(series[i].grown);
    const auto is = [&](std::string_view kind) { return counter.name.ends_with(kind); };
    if (is(".cpu") && grown) use.cpu_ns = static_cast<int64_t>(*grown);
    if (is(".run_wait") && grown) {
      use.run_wait_ns = use.run_wait_ns.value_or(0) + static_cast<int64_t>(*grown);
    }
    if (is(".io_requested")) use.read_bytes = grown;
    if (is(".io_from_disk")) use.disk_bytes = grown;
    if (is(".rss")) use.peak_rss_bytes = Count(series[i].most);
    if (is(".private")) use.peak_private_bytes = Count(series[i].most);
  }
  return uses;
}

}  // namespace stallscope::attribution
