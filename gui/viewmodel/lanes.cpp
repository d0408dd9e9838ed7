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
    case LaneKind::kGroup:
    case LaneKind::kQueue:
    case LaneKind::kCounter:
      break;
  }
  return nullptr;
}

DrawnLane DrawLane(const LanePicture& picture, const Lane& lane) {
  DrawnLane drawn;
  const session::OpenRun& open = picture.open;
  if (lane.kind == LaneKind::kQueue) {
    const timeline::SeriesIndex& series = open.index->queues[lane.index];
    const auto capacity = static_cast<double>(open.run->queues[lane.index].info.capacity);
    drawn.series =
        DrawSeries(picture, series, std::max(capacity, static_cast<double>(series.highest())));
    return drawn;
  }
  if (lane.kind == LaneKind::kCounter) {
    if (lane.index == kNoRow) return drawn;  // the head of the group
    const timeline::SeriesIndex& series = open.index->counters[lane.index];
    drawn.series = DrawSeries(picture, series, static_cast<double>(series.highest()));
    return drawn;
  }
  Mixer mixer(picture);
  if (lane.kind == LaneKind::kGroup) {
    for (const TrackId id : lane.members) {
      mixer.Add(open.index->tracks[id.value], LaneKind::kThread, &open.run->tracks[id.value]);
    }
    drawn.texels = mixer.Draw();
    return drawn;
  }
  const LaneIndex* const index = LaneOf(open, lane.kind, lane.track, lane.index, lane.depth);
  if (index == nullptr) return drawn;
  const model::Track* const track =
      lane.track.known() ? &open.run->tracks[lane.track.value] : nullptr;
  mixer.Add(*index, lane.kind, track);
  drawn.texels = mixer.Draw();
  drawn.labels = LabelsOf(picture, lane.kind, *index, track);
  return drawn;
}

}  // namespace stallscope::viewmodel
