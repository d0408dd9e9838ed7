#include "gui/viewmodel/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "analyzer/timeline/counter_kind.h"
#include "analyzer/words/words.h"

namespace stallscope::viewmodel {
namespace {

// Lanes have a small gap; queues and counters need height for a curve.
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

  // Toggling a group inverts its default.
  bool Collapsed(const std::string& key, bool by_itself) const {
    return (toggled_.count(key) != 0) != by_itself;
  }

  // The head of a group; true if its members are shown.
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
           .detail = "where its time goes",
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

  // A thread with nested work has one row per depth, or a single one when folded: the default
  // inside a group, where several threads would need many rows.
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
    row.detail = fmt::format("{} levels", depths);
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
    AddThread(id, track.info.name, words::Grouped(track.spans.size()) + " spans", indent);
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

  // The operations of a thread are below it.
  void AddLoneThreads() {
    for (const TrackId track : TracksOf(StageId::None())) {
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
               .detail = fmt::format("{} from the system", count),
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
           .detail = "up to " + CounterText(counter, static_cast<double>(series.highest())),
           .indent = 1,
           .index = counter.id.value});
    }
  }

  // More than this start folded.
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

std::string CounterText(const trace::CounterInfo& counter, double value) {
  const bool rate = timeline::IsCumulative(counter);
  if (counter.unit == "ns" && rate) return words::Percent(value) + " of the time";
  if (counter.unit == "bytes") return rate ? words::BytesPerSecond(value) : words::Bytes(value);
  if (counter.unit == "bytes/s") return words::BytesPerSecond(value);
  if (counter.unit == "percent") return words::Number(value) + "%";
  if (rate) return words::Rate(value);
  return words::Number(value) + (counter.unit.empty() || counter.unit == "count" ? "" : " ") +
         (counter.unit == "count" ? "" : counter.unit);
}

LanePlan PlanLanes(const session::OpenRun& run, const std::set<std::string>& collapsed) {
  if (run.run == nullptr || run.index == nullptr) return {};
  return Planner(run, collapsed).Make();
}

namespace {

using timeline::LaneIndex;

// Labels are made only where segments are few enough that some may be wide.
constexpr size_t kMostLabelled = 2'000;
constexpr float kLeastCharacters = 2;

Paint PaintOfSegment(const LanePicture& picture, LaneKind kind, const model::Track* track,
                     uint16_t segment_kind) {
  if (kind == LaneKind::kCategories) {
    return PaintOf(static_cast<attribution::Category>(segment_kind));
  }
  if (kind == LaneKind::kSteps) return segment_kind == 0 ? Paint::kEvenStep : Paint::kOddStep;
  return PaintOfKind(*picture.open.run, *track, segment_kind);
}

// Lanes that are drawn as one, with the paints that they have together.
class Mixer {
 public:
  explicit Mixer(const LanePicture& picture) : picture_(picture) {}

  void Add(const LaneIndex& lane, LaneKind kind, const model::Track* track) {
    std::vector<uint8_t> slots;
    for (const uint16_t layer : lane.layers()) {
      slots.push_back(SlotOf(PaintOfSegment(picture_, kind, track, layer)));
    }
    lanes_.push_back({&lane, std::move(slots)});
  }

  std::vector<Texel> Draw() const {
    const size_t columns = picture_.bounds.size() - 1;
    std::vector<Texel> texels(columns);
    const size_t slots = paints_.size();
    if (slots == 0) return texels;
    std::vector<int64_t> sums(columns * slots);
    for (const Lane& lane : lanes_) lane.index->AddTo(picture_.bounds, lane.slots, slots, sums);
    const auto lanes = static_cast<double>(lanes_.size());
    for (size_t k = 0; k < columns; ++k) {
      const int64_t* const column = &sums[k * slots];
      const int64_t total = std::accumulate(column, column + slots, int64_t{0});
      if (total == 0) continue;
      const auto width = static_cast<double>(picture_.bounds[k + 1] - picture_.bounds[k]);
      const double busy = static_cast<double>(total) / (width * lanes);
      // Any work at all must be visible.
      texels[k].busy = static_cast<uint8_t>(std::clamp(std::lround(busy * 255), 1L, 255L));
      texels[k].paint =
          paints_[static_cast<size_t>(std::max_element(column, column + slots) - column)];
    }
    return texels;
  }

 private:
  struct Lane {
    const LaneIndex* index;
    std::vector<uint8_t> slots;
  };

  uint8_t SlotOf(Paint paint) {
    const auto found = std::find(paints_.begin(), paints_.end(), paint);
    const auto slot = static_cast<uint8_t>(found - paints_.begin());
    if (found == paints_.end()) paints_.push_back(paint);
    return slot;
  }

  const LanePicture& picture_;
  std::vector<Paint> paints_;
  std::vector<Lane> lanes_;
};

struct Said {
  std::string text;
  std::string brief;  // where there is little room; empty: nothing short says anything
};

// "input stall", or "input" if that is all that fits.
Said WithFirstWord(std::string text) {
  const size_t space = text.find(' ');
  return {text, space == std::string::npos ? "" : text.substr(0, space)};
}

Said LabelOf(const model::Run& run, LaneKind kind, const model::Track* track,
             const timeline::Segment& segment) {
  if (kind == LaneKind::kSteps) {
    const std::string number = std::to_string(run.rows.steps[segment.index].index);
    return {"step " + number, number};
  }
  if (kind == LaneKind::kCategories) {
    return WithFirstWord(
        std::string(WordFor(PaintOf(static_cast<attribution::Category>(segment.kind)))));
  }
  if (segment.origin == timeline::Origin::kKernel) {
    return {std::string(run.Text(run.rows.kernels[segment.index].name)), ""};
  }
  if (segment.origin == timeline::Origin::kCopy) {
    return {words::Bytes(run.rows.copies[segment.index].bytes), ""};
  }
  const trace::SpanClass& what = run.span_classes[segment.kind];
  if (what.kind == trace::SpanKind::kWait) {
    return WithFirstWord(std::string(WordFor(PaintOf(what.cause))));
  }
  if (what.name.known()) return {std::string(run.Text(what.name)), ""};
  const std::string stage(run.NameOf(what.stage.known() ? what.stage : track->info.stage));
  const ItemId item{track->spans.item[segment.index]};
  if (!item.known()) return {stage, ""};
  return {fmt::format("{} {}", stage, item.value), stage};
}

std::vector<Label> LabelsOf(const LanePicture& picture, LaneKind kind, const LaneIndex& lane,
                            const model::Track* track) {
  std::vector<Label> labels;
  const size_t first = lane.FirstEndingAfter(picture.visible.start_ns);
  const size_t last = std::min(lane.FirstEndingAfter(picture.visible.end_ns) + 1, lane.size());
  if (first >= last || last - first > kMostLabelled) return labels;
  const auto width = static_cast<double>(picture.bounds.size() - 1);
  const auto x_of = [&](int64_t time_ns) {
    const double x = static_cast<double>(time_ns - picture.visible.start_ns) /
                     static_cast<double>(picture.visible.ns()) * width;
    return static_cast<float>(std::clamp(x, 0.0, width));
  };
  for (size_t i = first; i < last; ++i) {
    const timeline::Segment segment = lane.At(i);
    if (segment.start_ns >= picture.visible.end_ns) break;
    const float x0 = x_of(segment.start_ns);
    const float x1 = x_of(segment.end_ns);
    if ((x1 - x0) / picture.character < kLeastCharacters) continue;
    Said said = LabelOf(*picture.open.run, kind, track, segment);
    labels.push_back({x0, x1, std::move(said.text), std::move(said.brief),
                      PaintOfSegment(picture, kind, track, segment.kind)});
  }
  return labels;
}

std::vector<SeriesTexel> DrawSeries(const LanePicture& picture, const timeline::SeriesIndex& series,
                                    double highest) {
  std::vector<timeline::SeriesColumn> columns(picture.bounds.size() - 1);
  series.Draw(picture.bounds, columns);
  std::vector<SeriesTexel> texels(columns.size());
  const auto scaled = [&](float value) {
    return static_cast<float>(
        std::clamp(static_cast<double>(value) / std::max(highest, 1e-12), 0.0, 1.0));
  };
  for (size_t k = 0; k < columns.size(); ++k) {
    const timeline::SeriesColumn& column = columns[k];
    texels[k] = {scaled(column.low), scaled(column.high), scaled(column.mean), column.known};
  }
  return texels;
}

}  // namespace

Paint PaintOfKind(const model::Run& run, const model::Track& track, uint16_t kind) {
  switch (kind) {
    case timeline::kComputeKind:
      return Paint::kCompute;
    case timeline::kCommunicationKind:
      return Paint::kCommunication;
    default:
      break;
  }
  if (kind >= timeline::kMostSpanKinds) return Paint::kTransfer;
  const trace::SpanClass& what = run.span_classes[kind];
  if (what.kind == trace::SpanKind::kWait) return PaintOf(what.cause);
  const StageId stage = what.stage.known() ? what.stage : track.info.stage;
  return stage.known() ? PaintOfStage(stage) : PaintOfName(what.name);
}

const LaneIndex* LaneOf(const session::OpenRun& open, LaneKind kind, TrackId track, size_t index,
                        size_t depth) {
  switch (kind) {
    case LaneKind::kSteps:
      return &open.index->steps;
    case LaneKind::kCategories:
      return open.devices != nullptr && index < open.devices->size() ? &(*open.devices)[index]
                                                                     : nullptr;
    case LaneKind::kThread:
      if (depth < open.index->nested[track.value].rows.size()) {
        return &open.index->nested[track.value].rows[depth];
      }
      return &open.index->tracks[track.value];
    case LaneKind::kStream:
    case LaneKind::kCopyEngine:
    case LaneKind::kSampler:
      return &open.index->tracks[track.value];
    case LaneKind::kStage:
    case LaneKind::kQueue:
    case LaneKind::kCounter:
      break;
  }
  return nullptr;
}

DrawnLane DrawLane(const LanePicture& picture, const LanePlan::Entry& entry) {
  DrawnLane drawn;
  const session::OpenRun& open = picture.open;
  if (entry.kind == LaneKind::kQueue) {
    const timeline::SeriesIndex& series = open.index->queues[entry.index];
    const auto capacity = static_cast<double>(open.run->queues[entry.index].info.capacity);
    drawn.series =
        DrawSeries(picture, series, std::max(capacity, static_cast<double>(series.highest())));
    return drawn;
  }
  if (entry.kind == LaneKind::kCounter) {
    if (entry.index == kNoRow) return drawn;  // the head of the group
    const timeline::SeriesIndex& series = open.index->counters[entry.index];
    drawn.series = DrawSeries(picture, series, static_cast<double>(series.highest()));
    return drawn;
  }
  Mixer mixer(picture);
  if (entry.kind == LaneKind::kStage) {
    for (const TrackId id : entry.members) {
      mixer.Add(open.index->tracks[id.value], LaneKind::kThread, &open.run->tracks[id.value]);
    }
    drawn.texels = mixer.Draw();
    return drawn;
  }
  const LaneIndex* const lane = LaneOf(open, entry.kind, entry.track, entry.index, entry.depth);
  if (lane == nullptr) return drawn;
  const model::Track* const track =
      entry.track.known() ? &open.run->tracks[entry.track.value] : nullptr;
  mixer.Add(*lane, entry.kind, track);
  drawn.texels = mixer.Draw();
  drawn.labels = LabelsOf(picture, entry.kind, *lane, track);
  return drawn;
}

LaneRow RowOf(const LanePlan::Entry& entry, float y, DrawnLane drawn) {
  LaneRow row;
  row.kind = entry.kind;
  row.key = entry.key;
  row.name = entry.name;
  row.detail = entry.detail;
  row.indent = entry.indent;
  row.group = entry.group;
  row.collapsed = entry.collapsed;
  row.y = y;
  row.height = entry.height;
  row.track = entry.track;
  row.stage = entry.stage;
  row.index = entry.index;
  row.depth = entry.depth;
  row.texels = std::move(drawn.texels);
  row.series = std::move(drawn.series);
  row.labels = std::move(drawn.labels);
  return row;
}

}  // namespace stallscope::viewmodel
