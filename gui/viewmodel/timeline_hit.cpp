#include "gui/viewmodel/timeline_hit.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"
#include "gui/viewmodel/selection.h"

namespace stallscope::viewmodel {
namespace {

// The segment at this instant, or another one within the same column.
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

void HitGroup(const session::OpenRun& open, const std::vector<TrackId>& members, int64_t column_ns,
              TimelineHit& hit) {
  for (const TrackId track : members) {
    const timeline::LaneIndex& lane = open.index->tracks[track.value];
    const auto segment = SegmentAt(lane, hit.time_ns, column_ns);
    if (!segment.has_value()) continue;
    hit.interval = RefOf(lane.At(*segment), track);
    return;
  }
}

void AddInterval(const session::OpenRun& open, const session::IntervalRef& ref,
                 std::vector<std::string>& lines) {
  const session::SpanRow row = open.spans->At(ref);
  std::string first = SpanTitle(row);
  if (row.kind == "copy") {
    first = "copy " + first + ", " + std::string(row.cause) + " memory";
  }
  lines.push_back(std::move(first));
  lines.push_back(words::BothNs(row.duration_ns));
  lines.push_back("starts at " + words::ExactNs(row.start_ns - open.index->window.start_ns));
  if (row.item.known()) lines.push_back(fmt::format("item {}", row.item.value));
  if (row.bytes > 0) lines.push_back(words::Bytes(row.bytes));
  lines.push_back("on " + std::string(row.track));
  if (!ref.track.known()) return;
  const std::string process = ProcessOf(*open.run, ref.track);
  if (!process.empty()) lines.back() += " of " + process;
  const PlaceText place = PlaceOf(*open.run, ref);
  if (!place.brief.empty()) lines.push_back(place.brief);
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
  if (row->kind == LaneKind::kGroup) {
    HitGroup(*open, row->members, column_ns, hit);
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
    if (segment.has_value()) hit.slice = lane->At(*segment);
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
    const auto value = static_cast<double>(*hit.value);
    lines.push_back(row.name + ": " +
                    (row.kind == LaneKind::kCounter
                         ? CounterText(open->run->counters[row.index], value)
                         : words::Number(value)));
    lines.push_back("at " + words::ExactNs(hit.time_ns - model.origin_ns));
  } else if (hit.step_row.has_value() && *hit.step_row < open->index->step_times.size()) {
    const model::StepInterval& step = open->index->step_times[*hit.step_row];
    const std::string length = words::BothNs(step.end_ns - step.start_ns);
    if (!hit.slice.has_value()) {
      lines = {fmt::format("step {}", step.index), length,
               "starts at " + words::ExactNs(step.start_ns - model.origin_ns)};
    } else {
      // The part's own length: the step's would read as that of a stall.
      const auto category = static_cast<attribution::Category>(hit.slice->kind);
      lines = {std::string(WordFor(PaintOf(category))),
               words::BothNs(hit.slice->end_ns - hit.slice->start_ns),
               "starts at " + words::ExactNs(hit.slice->start_ns - model.origin_ns),
               fmt::format("in step {} of {}", step.index, length)};
    }
  }
  if (lines.empty()) return lines;
  for (const trace::Probe& window : open->run->rows.probes) {
    if (!window.stage.known() || hit.time_ns < window.start_ns || hit.time_ns >= window.end_ns) {
      continue;
    }
    lines.push_back("causal check: " + SlowedText(*open->run, window) + " on purpose");
  }
  return lines;
}

}  // namespace stallscope::viewmodel
