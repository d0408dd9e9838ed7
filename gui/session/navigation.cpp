#include "gui/session/navigation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::session {
namespace {

constexpr size_t kMostViews = 200;
constexpr int64_t kShortestNs = 16;  // that can be shown
constexpr int64_t kOneMoveNs = kNsPerSecond;

// Times are far from where their differences overflow (trace/limits.h), but a factor is anything.
int64_t Scaled(int64_t ns, double factor) {
  const double scaled = static_cast<double>(ns) * factor;
  return static_cast<int64_t>(std::clamp(scaled, -4e18, 4e18));
}

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
std::optional<uint64_t> Neighbor(const std::vector<Row>& rows, uint64_t index, int direction) {
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

Range Navigation::WholeOf(RunNumber number) const {
  const OpenRun* const run = desk_.state.Run(number);
  if (run == nullptr || run->run == nullptr) return {};
  const model::TimeRange window =
      run->index != nullptr ? run->index->window : model::WindowOf(*run->run);
  return {window.start_ns, std::max(window.end_ns, window.start_ns + kShortestNs)};
}

// All of it; of a job that starts long before it trains, its steps.
Range Navigation::AtFirst() const {
  const OpenRun* const open = desk_.state.Active();
  const Range whole = Whole();
  if (open == nullptr || open->run == nullptr || open->following || open->run->processes.empty()) {
    return whole;
  }
  const std::vector<trace::Step>& steps = open->run->rows.steps;
  if (steps.empty()) return whole;
  const Range trained{steps.front().requested_ns, steps.back().device_done_ns};
  if (trained.ns() <= 0 || trained.ns() > whole.ns() / 2) return whole;
  const int64_t margin = trained.ns() / 20;
  return {trained.start_ns - margin, trained.end_ns + margin};
}

void Navigation::Remember(bool same_gesture) {
  if (same_gesture && !back_.empty()) return;
  if (!back_.empty() && back_.back() == desk_.state.view) return;
  back_.push_back(desk_.state.view);
  if (back_.size() > kMostViews) back_.erase(back_.begin());
  forward_.clear();
  desk_.changed = true;
}

void Navigation::RememberMove() {
  const int64_t now = MonotonicNs();
  const bool goes_on = desk_.state.view == moved_to_ && now - moved_at_ns_ < kOneMoveNs;
  Remember(goes_on);
  moved_at_ns_ = now;
}

// Never beyond the run, never shorter than can be drawn.
void Navigation::Show(Range visible) {
  const Range whole = Whole();
  if (whole.ns() <= 0) return;
  const int64_t length = std::clamp(visible.ns(), std::min(kShortestNs, whole.ns()), whole.ns());
  const int64_t middle = visible.start_ns + visible.ns() / 2;
  int64_t start = visible.ns() == length ? visible.start_ns : middle - length / 2;
  start = std::clamp(start, whole.start_ns, whole.end_ns - length);
  desk_.state.view.visible = {start, start + length};
  moved_to_ = desk_.state.view;
  desk_.changed = true;
}

void Navigation::On(const intent::ShowPanel& show) {
  if (show.panel == desk_.state.view.panel) return;
  Remember();
  desk_.state.view.panel = show.panel;
}

void Navigation::On(const intent::ShowRange& show) {
  Remember(show.same_gesture);
  Show(show.visible);
}

void Navigation::On(const intent::Zoom& zoom) {
  const Range now = desk_.state.view.visible;
  if (!(zoom.factor > 0) || now.ns() <= 0) return;
  const int64_t at =
      std::clamp(zoom.at_ns.value_or(now.start_ns + now.ns() / 2), now.start_ns, now.end_ns);
  const int64_t whole = Whole().ns();
  const int64_t length =
      std::clamp(Scaled(now.ns(), 1 / zoom.factor), kShortestNs, std::max(whole, kShortestNs));
  const double part = static_cast<double>(at - now.start_ns) / static_cast<double>(now.ns());
  RememberMove();
  const int64_t start = at - Scaled(length, part);
  Show({start, start + length});
}

void Navigation::On(const intent::Pan& pan) {
  const Range now = desk_.state.view.visible;
  if (now.ns() <= 0 || !std::isfinite(pan.widths)) return;
  RememberMove();
  const int64_t by = Scaled(now.ns(), std::clamp(pan.widths, -1e6, 1e6));
  const Range whole = Whole();
  const int64_t start =
      std::clamp(now.start_ns + std::clamp(by, -whole.ns(), whole.ns()), whole.start_ns,
                 std::max(whole.start_ns, whole.end_ns - now.ns()));
  Show({start, start + now.ns()});
}

void Navigation::On(const intent::Fit&) {
  Remember();
  Show(Whole());
}

bool Navigation::ShowsAll(RunNumber run) const {
  return run == desk_.state.active && desk_.state.view.visible == Whole();
}

void Navigation::ShowAll() { Show(Whole()); }

void Navigation::On(const intent::FitSelection&) {
  const auto what = TimeOfSelection();
  if (!what.has_value()) return;
  Remember();
  const int64_t margin = std::max<int64_t>(what->ns() / 5, kShortestNs);
  Show({what->start_ns - margin, what->end_ns + margin});
}

void Navigation::On(const intent::ScrollLanes& scroll) {
  desk_.state.layout.first_row = std::max(0.0, scroll.first_row);
  desk_.changed = true;
}

void Navigation::On(const intent::ToggleLane& toggle) {
  auto& collapsed = desk_.state.layout.collapsed;
  if (collapsed.erase(toggle.key) == 0) collapsed.insert(toggle.key);
  desk_.changed = true;
}

void Navigation::On(const intent::Measure& measure) {
  desk_.state.measured = measure.range;
  if (measure.range.has_value() && measure.range->ns() < 0) {
    desk_.state.measured = Range{measure.range->end_ns, measure.range->start_ns};
  }
  desk_.changed = true;
}

void Navigation::On(const intent::LimitRange& limit) {
  if (limit.range == desk_.state.view.range) return;
  if (limit.range.has_value() && limit.range->ns() <= 0) return;
  Remember();
  desk_.state.view.range = limit.range;
  desk_.state.measured.reset();
}

void Navigation::Restore(std::vector<View>& from, std::vector<View>& to) {
  while (!from.empty()) {
    View view = std::move(from.back());
    from.pop_back();
    if (view == desk_.state.view) continue;
    to.push_back(desk_.state.view);
    desk_.state.view = std::move(view);
    desk_.changed = true;
    return;
  }
}

void Navigation::On(const intent::GoBack&) {
  Restore(back_, forward_);
  desk_.changed = true;
}

void Navigation::On(const intent::GoForward&) {
  Restore(forward_, back_);
  desk_.changed = true;
}

void Navigation::On(const intent::AddBookmark& add) {
  if (desk_.state.view.visible.ns() <= 0) return;
  std::string name = add.name;
  if (name.empty()) name = "bookmark " + std::to_string(desk_.state.bookmarks.size() + 1);
  desk_.state.bookmarks.push_back({std::move(name), desk_.state.view.visible});
  desk_.changed = true;
}

void Navigation::On(const intent::RemoveBookmark& remove) {
  auto& bookmarks = desk_.state.bookmarks;
  if (remove.index >= bookmarks.size()) return;
  bookmarks.erase(bookmarks.begin() + static_cast<std::ptrdiff_t>(remove.index));
  desk_.changed = true;
}

void Navigation::On(const intent::GoToBookmark& go) {
  if (go.index >= desk_.state.bookmarks.size()) return;
  Remember();
  desk_.state.view.panel = Panel::kTimeline;
  Show(desk_.state.bookmarks[go.index].visible);
}

void Navigation::Leave() {
  if (desk_.state.active == kNoRun) return;
  kept_[desk_.state.active] = {desk_.state.view, desk_.state.layout, desk_.state.bookmarks, back_,
                               forward_};
}

void Navigation::Enter(RunNumber run, const SideNotes& notes) {
  State& state = desk_.state;
  const Panel panel = state.view.panel;
  state.active = run;
  state.measured.reset();
  const auto kept = kept_.find(run);
  if (kept != kept_.end()) {
    state.view = kept->second.view;
    state.view.panel = panel;  // a change of the run keeps what is looked at
    state.layout = kept->second.layout;
    state.bookmarks = kept->second.bookmarks;
    back_ = kept->second.back;
    forward_ = kept->second.forward;
    // It was left before anything of it was there.
    if (state.view.visible.ns() <= 0) Show(notes.visible.ns() > 0 ? notes.visible : AtFirst());
  } else {
    state.view = View{panel, {}, {}, {}};
    // Where the last visit ended, unless the user has navigated already.
    if (panel == Panel::kOverview && state.runs.size() == 1) state.view.panel = notes.panel;
    state.layout = notes.layout;
    state.bookmarks = notes.bookmarks;
    back_.clear();
    forward_.clear();
    Show(notes.visible.ns() > 0 ? notes.visible : AtFirst());
  }
  desk_.changed = true;
}

std::optional<SideNotes> Navigation::NotesOf(RunNumber run) const {
  const State& state = desk_.state;
  SideNotes notes;
  if (run == state.active) {
    notes = {state.view.panel, state.view.visible, state.layout, state.bookmarks};
  } else if (const auto kept = kept_.find(run); kept != kept_.end()) {
    notes = {kept->second.view.panel, kept->second.view.visible, kept->second.layout,
             kept->second.bookmarks};
  } else {
    return std::nullopt;
  }
  // All of it stays all of it, also where the trace has grown by then.
  if (notes.visible == WholeOf(run)) notes.visible = {};
  return notes;
}

void Navigation::Adopt(RunNumber run, const SideNotes& sent, const SideNotes& now) {
  const auto here = NotesOf(run);
  if (!here.has_value()) return;
  const SideNotes merged = SideNotesForm::Merge(sent, *here, now);
  if (run == desk_.state.active) {
    desk_.state.bookmarks = merged.bookmarks;
    desk_.state.layout.collapsed = merged.layout.collapsed;
    desk_.changed = true;
  } else if (const auto kept = kept_.find(run); kept != kept_.end()) {
    kept->second.bookmarks = merged.bookmarks;
    kept->second.layout.collapsed = merged.layout.collapsed;
  }
}

// --- Selecting things and going to them ---

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
    next = Neighbor(open->run->rows.copies, ref.index, step.direction);
  } else {
    next = Neighbor(open->run->rows.kernels, ref.index, step.direction);
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
