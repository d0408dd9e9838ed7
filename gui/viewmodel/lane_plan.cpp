// Which lanes a run has, in which order.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gui/viewmodel/format.h"
#include "gui/viewmodel/timeline.h"

namespace stallscope::viewmodel {
namespace {

// Lanes stand a little apart; queues and counters need room for a curve.
constexpr float kPlain = 1.1F;
constexpr float kCurve = 1.5F;
constexpr float kNested = 0.9F;

class Planner {
 public:
  Planner(const session::OpenRun& open, const std::set<std::string>& collapsed)
      : open_(open), run_(*open.run), toggled_(collapsed) {}

  LanePlan Make() {
    if (!open_.index->steps.empty())
      Add({.kind = LaneKind::kSteps, .key = "steps", .name = "steps"});
    AddDevices();
    for (const trace::StageInfo& stage : run_.stages) AddStage(stage);
    AddLoneThreads();
    AddDeviceTracks();
    AddLooseQueues();
    AddCounters();
    return std::move(plan_);
  }

 private:
  using Entry = LanePlan::Entry;

  void Add(Entry entry) {
    const bool curve = entry.kind == LaneKind::kQueue || entry.kind == LaneKind::kCounter;
    const bool below = entry.depth != kAllDepths && entry.depth > 0;
    entry.height = curve ? kCurve : below ? kNested : kPlain;
    plan_.entries.push_back(std::move(entry));
  }

  // Toggling a group turns around what it is by itself.
  bool Collapsed(const std::string& key, bool by_itself) const {
    return (toggled_.count(key) != 0) != by_itself;
  }

  // The head of a group; true where what is in it is shown.
  bool Open(Entry head, bool collapsed_by_itself) {
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
           .detail = "what its time went to",
           .index = i});
    }
  }

  std::vector<TrackId> TracksOf(StageId stage) const {
    std::vector<TrackId> tracks;
    for (const model::Track& track : run_.tracks) {
      if (track.info.kind == trace::TrackKind::kThread && track.info.stage == stage &&
          !open_.index->tracks[track.info.id.value].empty()) {
        tracks.push_back(track.info.id);
      }
    }
    return tracks;
  }

  // A thread whose work is nested has a row for each depth, or one where it is folded: inside a
  // group by itself, where several threads would need many rows.
  void AddThread(TrackId id, std::string name, std::string detail, int indent) {
    const size_t depths = open_.index->nested[id.value].rows.size();
    Entry row{.kind = LaneKind::kThread,
              .key = fmt::format("track:{}", id.value),
              .name = std::move(name),
              .detail = std::move(detail),
              .indent = indent,
              .track = id,
              .stage = run_.tracks[id.value].info.stage};
    if (depths == 0) return Add(std::move(row));
    row.detail = fmt::format("{} deep", depths);
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
    AddThread(id, track.info.name, Grouped(track.spans.size()) + " spans", indent);
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
    const std::vector<TrackId> tracks = TracksOf(stage.id);
    if (tracks.size() == 1) {
      AddThread(tracks.front(), stage.name, std::string(run_.NameOf(tracks.front())), 0);
    } else if (!tracks.empty()) {
      const bool open = Open({.kind = LaneKind::kStage,
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

  // What a thread did operation by operation stands below it.
  void AddLoneThreads() {
    for (const TrackId track : TracksOf(StageId::None())) {
      AddNamedThread(track, 0);
      AddDetails(run_.tracks[track.value].info.thread);
    }
    AddDetails(std::nullopt);
  }

  // Of one thread, or all that are not there yet.
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
      const trace::TrackKind kind = track.info.kind;
      if (kind != trace::TrackKind::kStream && kind != trace::TrackKind::kCopyEngine) continue;
      if (open_.index->tracks[track.info.id.value].empty()) continue;
      Add({.kind = kind == trace::TrackKind::kStream ? LaneKind::kStream : LaneKind::kCopyEngine,
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
    size_t count = 0;
    for (const auto& counter : open_.index->counters) count += counter.empty() ? 0U : 1U;
    if (count == 0) return;
    if (!Open({.kind = LaneKind::kCounter,
               .key = "counters",
               .name = "counters",
               .detail = fmt::format("{} of the system", count),
               .index = kNoRow},
              count > kManyCounters)) {
      return;
    }
    for (const trace::CounterInfo& counter : run_.counters) {
      const timeline::SeriesIndex& series = open_.index->counters[counter.id.value];
      if (series.empty()) continue;
      Add({.kind = LaneKind::kCounter,
           .key = fmt::format("counter:{}", counter.id.value),
           .name = counter.name,
           .detail =
               fmt::format("to {} {}", Number(static_cast<double>(series.highest())), counter.unit),
           .indent = 1,
           .index = counter.id.value});
    }
  }

  // More are shown when asked for.
  static constexpr size_t kManyThreads = 16;
  static constexpr size_t kManyCounters = 4;

  const session::OpenRun& open_;
  const model::Run& run_;
  const std::set<std::string>& toggled_;
  std::set<uint32_t> placed_queues_;
  std::set<uint32_t> placed_details_;
  LanePlan plan_;
};

}  // namespace

LanePlan PlanLanes(const session::OpenRun& run, const std::set<std::string>& collapsed) {
  if (run.run == nullptr || run.index == nullptr) return {};
  return Planner(run, collapsed).Make();
}

}  // namespace stallscope::viewmodel
