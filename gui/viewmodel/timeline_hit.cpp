// What lies under the pointer.
#include <fmt/format.h>

#include <algorithm>

#include "gui/viewmodel/format.h"
#include "gui/viewmodel/lane_draw.h"
#include "gui/viewmodel/timeline.h"

namespace stallscope::viewmodel {
namespace {

// The segment at the instant, or where columns are wide another one in the same column.
std::optional<size_t> SegmentAt(const timeline::LaneIndex& lane, int64_t time_ns,
                                int64_t column_ns) {
  const size_t at = lane.FirstEndingAfter(time_ns);
  if (at < lane.size() && lane.At(at).start_ns < time_ns + std::max<int64_t>(column_ns, 1))
    return at;
  return std::nullopt;
}

session::IntervalRef RefOf(const timeline::Segment& segment, TrackId track) {
  switch (segment.origin) {
    case timeline::Origin::kKernel:
      return {session::IntervalKind::kKernel, track, segment.index};
    case timeline::Origin::kCopy:
      return {session::IntervalKind::kCopy, track, segment.index};
    case timeline::Origin::kSpan:
      break;
  }
  return {session::IntervalKind::kSpan, track, segment.index};
}

void HitGroup(const session::OpenRun& open, StageId stage, int64_t column_ns, TimelineHit& hit) {
  for (const model::Track& track : open.run->tracks) {
    if (track.info.stage != stage || track.info.kind != trace::TrackKind::kThread) continue;
    const timeline::LaneIndex& lane = open.index->tracks[track.info.id.value];
    const auto segment = SegmentAt(lane, hit.time_ns, column_ns);
    if (!segment.has_value()) continue;
    hit.interval = RefOf(lane.At(*segment), track.info.id);
    return;
  }
}

void AddInterval(const session::OpenRun& open, const session::IntervalRef& ref,
                 std::vector<std::string>& lines) {
  const session::SpanRow row = open.spans->At(ref);
  std::string first(row.name.empty() ? row.kind : row.name);
  if (row.kind == "wait") {
    first = std::string(row.name) + " waits (" + std::string(row.cause) + ")";
  } else if (row.kind == "copy") {
    first = "copy " + first + ", " + std::string(row.cause) + " memory";
  }
  lines.push_back(std::move(first));
  lines.push_back(BothNs(row.duration_ns));
  lines.push_back("from " + ExactNs(row.start_ns - open.index->window.start_ns));
  if (row.item.known()) lines.push_back(fmt::format("item {}", row.item.value));
  if (row.bytes > 0) lines.push_back(BytesText(row.bytes));
  lines.push_back("on " + std::string(row.track));
}

}  // namespace

TimelineHit HitTest(const TimelineModel& model, const session::State& state, double x, double y) {
  TimelineHit hit;
  hit.time_ns = TimeAtX(model, x);
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->index == nullptr || x < 0 || x >= model.width) return hit;
  const auto row = std::find_if(model.rows.begin(), model.rows.end(), [&](const LaneRow& lane) {
    return y >= static_cast<double>(lane.y) && y < static_cast<double>(lane.y + lane.height);
  });
  if (row == model.rows.end()) return hit;
  hit.row = static_cast<size_t>(row - model.rows.begin());
  const int64_t column_ns = model.visible.ns() / std::max(model.width, 1);
  if (row->kind == LaneKind::kQueue && row->index < open->index->queues.size()) {
    hit.value = open->index->queues[row->index].ValueAt(hit.time_ns);
    return hit;
  }
  if (row->kind == LaneKind::kCounter) {
    if (row->index < open->index->counters.size()) {
      hit.value = open->index->counters[row->index].ValueAt(hit.time_ns);
    }
    return hit;
  }
  if (row->kind == LaneKind::kStage) {
    HitGroup(*open, row->stage, column_ns, hit);
    return hit;
  }
  const timeline::LaneIndex* const lane =
      LaneOf(*open, row->kind, row->track, row->index, row->depth);
  if (lane == nullptr) return hit;
  const auto segment = SegmentAt(*lane, hit.time_ns, column_ns);
  if (row->kind == LaneKind::kSteps) {
    if (segment.has_value()) hit.step_row = lane->At(*segment).index;
  } else if (row->kind == LaneKind::kCategories) {
    const auto step = SegmentAt(open->index->steps, hit.time_ns, column_ns);
    if (step.has_value()) hit.step_row = open->index->steps.At(*step).index;
  } else if (segment.has_value()) {
    hit.interval = RefOf(lane->At(*segment), row->track);
  }
  return hit;
}

std::vector<std::string> TooltipOf(const TimelineModel& model, const session::State& state,
                                   const TimelineHit& hit) {
  std::vector<std::string> lines;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->spans == nullptr || hit.row >= model.rows.size()) return lines;
  const LaneRow& row = model.rows[hit.row];
  if (hit.interval.has_value()) {
    AddInterval(*open, *hit.interval, lines);
  } else if (hit.value.has_value()) {
    lines.push_back(row.name + ": " + Number(static_cast<double>(*hit.value)));
    lines.push_back("at " + ExactNs(hit.time_ns - model.origin_ns));
  } else if (hit.step_row.has_value() && *hit.step_row < open->index->step_times.size()) {
    const model::StepInterval& step = open->index->step_times[*hit.step_row];
    lines.push_back(fmt::format("step {}", step.index));
    lines.push_back(BothNs(step.end_ns - step.start_ns));
    lines.push_back("from " + ExactNs(step.start_ns - model.origin_ns));
    if (row.kind == LaneKind::kCategories) {
      const auto x = static_cast<size_t>(std::max(XAtTime(model, hit.time_ns), 0.0));
      if (x < row.texels.size())
        lines.insert(lines.begin(), std::string(WordFor(row.texels[x].paint)));
    }
  }
  return lines;
}

}  // namespace stallscope::viewmodel
