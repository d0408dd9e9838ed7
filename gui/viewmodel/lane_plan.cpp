#include "gui/viewmodel/lane_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/model/trainers.h"
#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {
namespace {

// Lanes have a small gap; queues and counters need height for a curve.
constexpr float kPlain = 1.1F;
constexpr float kCurve = 1.5F;
constexpr float kNested = 0.9F;

class Planner {
 public:
  Planner(const session::OpenRun& open, const std::set<std::string>& toggled)
      : open_(open), run_(*open.run), toggled_(toggled) {}

  std::vector<Lane> Make() {
    if (!open_.index->steps.empty())
      Add({.kind = LaneKind::kSteps, .key = "steps", .name = "steps"});
    AddDevices();
    if (run_.processes.empty()) {
      for (const trace::StageInfo& stage : run_.stages) AddStage(stage);
    } else {
      AddProcesses();
    }
    AddLoneThreads();
    AddDeviceTracks();
    AddLooseQueues();
    AddCounters();
    return std::move(plan_);
  }

 private:
  void Add(Lane lane) {
    const bool series = lane.kind == LaneKind::kQueue || lane.kind == LaneKind::kCounter;
    const bool curve = series && lane.index != kNoRow;
    const bool below = lane.depth != kAllDepths && lane.depth > 0;
    lane.height = curve ? kCurve : below ? kNested : kPlain;
    plan_.push_back(std::move(lane));
  }

  // Toggling a group inverts its default.
  bool Collapsed(const std::string& key, bool by_itself) const {
    return (toggled_.count(key) != 0) != by_itself;
  }

  // The head of a group; true if its members are shown.
  bool Open(Lane head, bool collapsed_by_itself) {
    head.group = true;
    head.collapsed = Collapsed(head.key, collapsed_by_itself);
    const bool open = !head.collapsed;
    Add(std::move(head));
    return open;
  }

  void AddDevices() {
    if (open_.devices == nullptr || open_.whole.attribution == nullptr) return;
    const auto& timelines = open_.whole.attribution->timelines;
    for (size_t i = 0; i < timelines.size() && i < open_.devices->size(); ++i) {
      std::string name = "device";
      if (timelines.size() > 1) {
        name = fmt::format("rank {} device {}", timelines[i].rank, timelines[i].device);
      }
      Add({.kind = LaneKind::kCategories,
           .key = fmt::format("device:{}", i),
           .name = name,
           .detail = "where its time goes",
           .index = i});
    }
  }

  // Those with something to draw for which `is` holds.
  template <class Is>
  std::vector<TrackId> ThreadsWhere(Is is) const {
    std::vector<TrackId> threads;
    for (const model::Track& track : run_.tracks) {
      if (track.info.kind == trace::TrackKind::kThread && is(track.info) &&
          !open_.index->tracks[track.info.id.value].empty()) {
        threads.push_back(track.info.id);
      }
    }
    return threads;
  }

  // A thread with nested work has one row per depth, or a single one when folded: the default
  // inside a group, where several threads would need many rows.
  void AddThread(TrackId id, std::string name, std::string detail, int indent) {
    const size_t depths = open_.index->nested[id.value].rows.size();
    Lane row{.kind = LaneKind::kThread,
             .key = fmt::format("track:{}", id.value),
             .name = std::move(name),
             .detail = std::move(detail),
             .indent = indent,
             .track = id,
             .stage = run_.tracks[id.value].info.stage};
    if (depths == 0) return Add(std::move(row));
    const std::string key = row.key;
    row.depth = Collapsed(key, indent > 0) ? kAllDepths : 0;
    if (!Open(row, indent > 0)) return;
    row.name.clear();
    row.detail.clear();
    for (row.depth = 1; row.depth < depths; ++row.depth) {
      row.key = fmt::format("{}/{}", key, row.depth);
      Add(row);
    }
  }

  void AddNamedThread(TrackId id, int indent) {
    const model::Track& track = run_.tracks[id.value];
    AddThread(id, track.info.name, LevelsOr(id, words::Counted(track.spans.size(), "span")),
              indent);
  }

  std::string LevelsOr(TrackId thread, std::string detail) const {
    const size_t depths = open_.index->nested[thread.value].rows.size();
    return depths == 0 ? std::move(detail) : fmt::format("{} levels", depths);
  }

  void AddQueue(QueueId id, int indent) {
    if (!id.known() || open_.index->queues[id.value].empty()) return;
    const model::Queue& queue = run_.queues[id.value];
    Add({.kind = LaneKind::kQueue,
         .key = fmt::format("queue:{}", id.value),
         .name = queue.info.name + " queue",
         .detail = fmt::format("0 to {}", Capacity(id)),
         .indent = indent,
         .stage = queue.producer,
         .index = id.value});
    placed_queues_.insert(id.value);
  }

  uint64_t Capacity(QueueId id) const {
    const uint64_t capacity = run_.queues[id.value].info.capacity;
    return capacity > 0 ? capacity : static_cast<uint64_t>(open_.index->queues[id.value].highest());
  }

  void AddStage(const trace::StageInfo& stage) {
    const std::vector<TrackId> tracks =
        ThreadsWhere([&](const trace::TrackInfo& thread) { return thread.stage == stage.id; });
    if (tracks.size() == 1) {
      const TrackId only = tracks.front();
      AddThread(only, stage.name, LevelsOr(only, std::string(run_.NameOf(only))), 0);
    } else if (!tracks.empty()) {
      const bool open = Open({.kind = LaneKind::kGroup,
                              .key = fmt::format("stage:{}", stage.id.value),
                              .name = stage.name,
                              .detail = fmt::format("{} threads", tracks.size()),
                              .stage = stage.id,
                              .members = tracks},
                             tracks.size() > kManyThreads);
      if (open) {
        for (const TrackId track : tracks) AddNamedThread(track, 1);
      }
    }
    AddQueue(stage.queue, tracks.empty() ? 0 : 1);
  }

  // --- The processes of a job ---

  struct Process {
    ProcessId id;
    std::vector<TrackId> threads = {};
    LoaderId works_for = {};  // another process iterates over this loader
  };

  std::vector<Process> ProcessesWithThreads() const {
    std::vector<Process> processes;
    for (const trace::ProcessInfo& info : run_.processes) processes.push_back({info.id});
    for (const TrackId id :
         ThreadsWhere([](const trace::TrackInfo& thread) { return thread.process.known(); })) {
      const trace::TrackInfo& thread = run_.tracks[id.value].info;
      Process& process = processes[thread.process.value];
      process.threads.push_back(id);
      const LoaderId loader = model::LoaderOf(run_, thread.stage, process.id);
      if (loader.known() && run_.loaders[loader.value].info.process != process.id) {
        process.works_for = loader;
      }
    }
    std::erase_if(processes, [](const Process& process) { return process.threads.empty(); });
    return processes;
  }

  // Each program before the workers of its loaders.
  void AddProcesses() {
    const std::vector<Process> processes = ProcessesWithThreads();
    std::set<LoaderId> placed;
    const auto add_workers = [&](const model::Loader& loader) {
      if (placed.insert(loader.info.id).second) AddWorkers(loader, processes);
    };
    for (const Process& process : processes) {
      if (process.works_for.known()) continue;
      AddProcess(process, 0, process.threads.size() > kManyThreads);
      for (const model::Loader& loader : run_.loaders) {
        if (loader.info.process == process.id) add_workers(loader);
      }
    }
    for (const model::Loader& loader : run_.loaders) add_workers(loader);
  }

  void AddWorkers(const model::Loader& loader, const std::vector<Process>& processes) {
    std::vector<const Process*> workers;
    std::vector<TrackId> threads;
    for (const Process& process : processes) {
      if (process.works_for != loader.info.id) continue;
      workers.push_back(&process);
      threads.insert(threads.end(), process.threads.begin(), process.threads.end());
    }
    int indent = 0;
    if (workers.size() > kManyProcesses) {
      if (!Open({.kind = LaneKind::kGroup,
                 .key = "workers:" + loader.name,
                 .name = loader.name + " workers",
                 .detail = words::Counted(workers.size(), "process", "processes"),
                 .members = std::move(threads)},
                true)) {
        return;
      }
      indent = 1;
    }
    for (const Process* worker : workers) {
      AddProcess(*worker, indent, workers.size() > kManyUnfolded);
    }
  }

  void AddProcess(const Process& process, int indent, bool folded) {
    const trace::ProcessInfo& info = run_.processes[process.id.value];
    const std::string pid = fmt::format("pid {}", info.pid);
    if (process.threads.size() == 1) return AddThread(process.threads[0], info.name, pid, indent);
    if (!Open({.kind = LaneKind::kGroup,
               .key = fmt::format("process:{}", process.id.value),
               .name = info.name,
               .detail = fmt::format("{}, {} threads", pid, process.threads.size()),
               .indent = indent,
               .members = process.threads},
              folded)) {
      return;
    }
    for (const TrackId thread : process.threads) AddNamedThread(thread, indent + 1);
  }

  // The operations of a thread are below it.
  void AddLoneThreads() {
    const bool job = !run_.processes.empty();
    for (const TrackId track : ThreadsWhere([&](const trace::TrackInfo& thread) {
           return job ? !thread.process.known() : !thread.stage.known();
         })) {
      AddNamedThread(track, 0);
      AddDetails(run_.tracks[track.value].info.thread);
    }
    AddDetails(std::nullopt);
  }

  // Those of one thread, or all that are not placed yet.
  void AddDetails(std::optional<uint64_t> thread) {
    for (const model::Track& track : run_.tracks) {
      const trace::TrackInfo& info = track.info;
      if (info.kind != trace::TrackKind::kDetail || (thread && info.thread != *thread)) continue;
      if (open_.index->tracks[info.id.value].empty()) continue;
      if (placed_details_.insert(info.id.value).second) AddNamedThread(info.id, 0);
    }
  }

  void AddDeviceTracks() {
    for (const model::Track& track : run_.tracks) {
      if (!track.info.on_device()) continue;
      if (open_.index->tracks[track.info.id.value].empty()) continue;
      const bool stream = track.info.kind == trace::TrackKind::kStream;
      Add({.kind = stream ? LaneKind::kStream : LaneKind::kCopyEngine,
           .key = fmt::format("track:{}", track.info.id.value),
           .name = track.info.name,
           .detail = fmt::format("device {}", track.info.device),
           .track = track.info.id});
    }
  }

  void AddLooseQueues() {
    for (const model::Queue& queue : run_.queues) {
      if (!queue.info.lock && placed_queues_.count(queue.info.id.value) == 0) {
        AddQueue(queue.info.id, 0);
      }
    }
  }

  void AddCounters() {
    std::vector<CounterId> of_system;
    std::vector<std::vector<CounterId>> of_process(run_.processes.size());
    size_t count = 0;
    for (const trace::CounterInfo& counter : run_.counters) {
      if (open_.index->counters[counter.id.value].empty()) continue;
      const bool system = !counter.process.known();
      (system ? of_system : of_process[counter.process.value]).push_back(counter.id);
      count += system ? 0U : 1U;
    }
    AddCounterGroup({.key = "counters",
                     .name = "counters",
                     .detail = fmt::format("{} from the system", of_system.size())},
                    of_system, "", of_system.size() > kManyCounters);
    if (count == 0 || !Open({.kind = LaneKind::kCounter,
                             .key = "process counters",
                             .name = "counters of processes",
                             .detail = fmt::format("{} in all", count),
                             .index = kNoRow},
                            true)) {
      return;
    }
    for (const trace::ProcessInfo& process : run_.processes) {
      AddCounterGroup({.key = fmt::format("counters:{}", process.id.value),
                       .name = process.name,
                       .detail = fmt::format("pid {}", process.pid),
                       .indent = 1},
                      of_process[process.id.value], fmt::format("process{}.", process.pid), true);
    }
  }

  // `prefix`: of their names, that the head makes needless.
  void AddCounterGroup(Lane head, const std::vector<CounterId>& counters, const std::string& prefix,
                       bool folded) {
    if (counters.empty()) return;
    head.kind = LaneKind::kCounter;
    head.index = kNoRow;
    const int indent = head.indent + 1;
    if (!Open(std::move(head), folded)) return;
    for (const CounterId id : counters) {
      const trace::CounterInfo& counter = run_.counters[id.value];
      const double highest = open_.index->counters[id.value].highest();
      Add({.kind = LaneKind::kCounter,
           .key = fmt::format("counter:{}", id.value),
           .name = counter.name.substr(counter.name.starts_with(prefix) ? prefix.size() : 0),
           .detail = "up to " + CounterText(counter, highest),
           .indent = indent,
           .index = id.value});
    }
  }

  // More than this start folded.
  static constexpr size_t kManyThreads = 16;
  static constexpr size_t kManyCounters = 4;
  static constexpr size_t kManyUnfolded = 4;  // workers
  // More workers than this have a head of their own.
  static constexpr size_t kManyProcesses = 8;

  const session::OpenRun& open_;
  const model::Run& run_;
  const std::set<std::string>& toggled_;
  std::set<uint32_t> placed_queues_;
  std::set<uint32_t> placed_details_;
  std::vector<Lane> plan_;
};

}  // namespace

std::vector<Lane> PlanLanes(const session::OpenRun& run, const std::set<std::string>& toggled) {
  if (run.run == nullptr || run.index == nullptr) return {};
  return Planner(run, toggled).Make();
}

}  // namespace stallscope::viewmodel
