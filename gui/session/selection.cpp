// The part of Navigation that selects things and goes to them.
#include <algorithm>

#include "gui/session/navigation.h"

namespace stallscope::session {
namespace {

template <class Row>
std::optional<Range> TimeIn(const std::vector<Row>& rows, uint64_t index) {
  if (index >= rows.size()) return std::nullopt;
  return Range{rows[index].start_ns, rows[index].end_ns};
}

constexpr int64_t kLeastNs = 1'000;

StageId StageOf(const model::Run& run, const model::Track& track, size_t span) {
  const trace::SpanClass& what = run.ClassOf(track, span);
  return what.stage.known() ? what.stage : track.info.stage;
}

// The nearest row of the same track in time, forwards or backwards.
template <class Row>
std::optional<uint64_t> Neighbour(const std::vector<Row>& rows, uint64_t index, int direction) {
  std::optional<uint64_t> best;
  const Row& from = rows[index];
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (i == index || rows[i].track != from.track) continue;
    const bool beyond = direction > 0 ? rows[i].start_ns >= from.start_ns && i > index
                                      : rows[i].start_ns <= from.start_ns && i < index;
    if (!beyond) continue;
    const bool nearer =
        !best.has_value() || (direction > 0 ? rows[i].start_ns < rows[*best].start_ns
                                            : rows[i].start_ns >= rows[*best].start_ns);
    if (nearer) best = i;
  }
  return best;
}

std::optional<uint64_t> NextOfStage(const model::Run& run, const IntervalRef& at, int direction) {
  const model::Track& track = run.tracks[at.track.value];
  const StageId stage = StageOf(run, track, at.index);
  const trace::SpanKind kind = run.ClassOf(track, at.index).kind;
  const auto count = static_cast<int64_t>(track.spans.size());
  for (auto i = static_cast<int64_t>(at.index) + direction; i >= 0 && i < count; i += direction) {
    const auto span = static_cast<size_t>(i);
    if (run.ClassOf(track, span).kind == kind && StageOf(run, track, span) == stage) return span;
  }
  return std::nullopt;
}

}  // namespace

Range Navigation::TimeOf(const IntervalRef& ref) const {
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->run == nullptr) return {};
  const model::Run& run = *open->run;
  std::optional<Range> time;
  if (ref.kind == IntervalKind::kCopy) {
    time = TimeIn(run.rows.copies, ref.index);
  } else if (ref.kind == IntervalKind::kKernel) {
    time = TimeIn(run.rows.kernels, ref.index);
  } else if (ref.track.known() && ref.track.value < run.tracks.size() &&
             ref.index < run.tracks[ref.track.value].spans.size()) {
    const trace::SpanColumns& spans = run.tracks[ref.track.value].spans;
    time = Range{spans.start_ns[ref.index], spans.EndNs(ref.index)};
  }
  return time.value_or(Range{});
}

std::optional<Range> Navigation::TimeOfSelection() const {
  const State& state = desk_.state;
  if (state.measured.has_value()) return state.measured;
  const Selection& selected = state.view.selected;
  if (selected.interval.has_value()) return TimeOf(*selected.interval);
  const OpenRun* const open = state.Active();
  if (selected.step_row.has_value() && open != nullptr && open->index != nullptr &&
      *selected.step_row < open->index->step_times.size()) {
    const model::StepInterval& step = open->index->step_times[*selected.step_row];
    return Range{step.start_ns, step.end_ns};
  }
  return state.view.range;
}

void Navigation::BringIntoView(Range what) {
  const Range now = desk_.state.view.visible;
  const bool inside = what.start_ns >= now.start_ns && what.end_ns <= now.end_ns;
  // A hair in a wide picture is not in view, either.
  const bool visible = inside && what.ns() * 400 >= now.ns();
  if (visible) return;
  Remember();
  const int64_t length = std::clamp(now.ns(), what.ns() * 2, std::max(what.ns() * 100, kLeastNs));
  const int64_t middle = what.start_ns + what.ns() / 2;
  Show({middle - length / 2, middle - length / 2 + length});
}

void Navigation::Reveal(const IntervalRef& ref) {
  desk_.state.view.selected.interval = ref;
  desk_.state.view.selected.step_row.reset();
  BringIntoView(TimeOf(ref));
  desk_.changed = true;
}

void Navigation::On(const intent::Select& select) {
  desk_.state.view.selected = select.selection;
  desk_.changed = true;
  if (!select.reveal) return;
  if (desk_.state.view.panel != Panel::kTimeline) {
    Remember();
    desk_.state.view.panel = Panel::kTimeline;
  }
  const auto what = TimeOfSelection();
  if (what.has_value()) BringIntoView(*what);
}

void Navigation::On(const intent::SelectStep& select) {
  Selection selection;
  selection.step_row = select.step_row;
  selection.followed = desk_.state.view.selected.followed;
  On(intent::Select{selection, select.go_to_timeline});
}

void Navigation::On(const intent::FollowItem& follow) {
  desk_.state.view.selected.followed = follow.item;
  desk_.changed = true;
}

void Navigation::On(const intent::StepSame& step) {
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->run == nullptr) return;
  const Selection& selected = desk_.state.view.selected;
  if (selected.step_row.has_value()) {
    const auto row = static_cast<int64_t>(*selected.step_row) + (step.direction > 0 ? 1 : -1);
    if (row < 0 || row >= static_cast<int64_t>(open->run->rows.steps.size())) return;
    return On(
        intent::SelectStep{static_cast<uint64_t>(row), desk_.state.view.panel == Panel::kTimeline});
  }
  if (!selected.interval.has_value()) return;
  IntervalRef ref = *selected.interval;
  if (TimeOf(ref) == Range{}) return;  // of another run's revision
  std::optional<uint64_t> next;
  if (ref.kind == IntervalKind::kSpan) {
    next = NextOfStage(*open->run, ref, step.direction > 0 ? 1 : -1);
  } else if (ref.kind == IntervalKind::kCopy) {
    next = Neighbour(open->run->rows.copies, ref.index, step.direction);
  } else {
    next = Neighbour(open->run->rows.kernels, ref.index, step.direction);
  }
  if (!next.has_value()) return;
  ref.index = *next;
  Reveal(ref);
}

std::optional<uint64_t> Navigation::RowOfStep(uint64_t index) const {
  const auto& steps = desk_.state.Active()->run->rows.steps;
  const auto found = std::find_if(steps.begin(), steps.end(),
                                  [&](const trace::Step& step) { return step.index == index; });
  if (found == steps.end()) return std::nullopt;
  return static_cast<uint64_t>(found - steps.begin());
}

void Navigation::On(const intent::ShowEvidence& show) {
  const State& state = desk_.state;
  const OpenRun* const open = state.Active();
  if (open == nullptr || state.shown.report == nullptr) return;
  const auto& findings = state.shown.report->findings;
  if (show.finding >= findings.size() || show.evidence >= findings[show.finding].evidence.size()) {
    return;
  }
  const report::EvidenceRow& evidence = findings[show.finding].evidence[show.evidence];
  Remember();
  Selection selection;
  selection.finding = show.finding;
  if (evidence.step.has_value()) selection.step_row = RowOfStep(*evidence.step);
  for (const trace::StageInfo& stage : open->run->stages) {
    if (stage.name == evidence.name) selection.stage = stage.id;
  }
  desk_.state.view.selected = selection;
  desk_.state.view.panel = Panel::kTimeline;
  if (evidence.end_ns > evidence.start_ns) {
    const int64_t margin = (evidence.end_ns - evidence.start_ns) / 5;
    Show({evidence.start_ns - margin, evidence.end_ns + margin});
  } else if (const auto step = TimeOfSelection()) {
    BringIntoView(*step);
  } else {
    Show(Whole());
  }
}

// From the top: what lies over the panels, what is measured, what is selected, the range.
void Navigation::On(const intent::Escape&) {
  State& state = desk_.state;
  desk_.changed = true;
  if (state.overlay != Overlay::kNone) {
    state.overlay = Overlay::kNone;
  } else if (state.measured.has_value()) {
    state.measured.reset();
  } else if (state.view.selected != Selection{}) {
    state.view.selected = Selection{};
  } else if (state.view.range.has_value()) {
    On(intent::LimitRange{std::nullopt});
  }
}

}  // namespace stallscope::session
