#include "gui/viewmodel/commands.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stallscope::viewmodel {
namespace {

using session::Intents;
using session::Overlay;
using session::Panel;
using session::State;
namespace intent = session::intent;

// One key press: half as much again, a quarter of what is visible.
constexpr double kZoomStep = 1.5;
constexpr double kPanStep = 0.25;

constexpr Chord On(auto key) { return {KeyOf(key), false, false, false}; }
constexpr Chord Shift(auto key) { return {KeyOf(key), false, true, false}; }
constexpr Chord Ctrl(auto key) { return {KeyOf(key), true, false, false}; }
constexpr Chord CtrlShift(auto key) { return {KeyOf(key), true, true, false}; }
constexpr Chord Alt(Key key) { return {key, false, false, true}; }
constexpr Chord kNoKey = {};

bool Always(const State&) { return true; }
bool HasRun(const State& state) {
  const session::OpenRun* const run = state.Active();
  return run != nullptr && run->run != nullptr;
}
bool HasReport(const State& state) { return HasRun(state) && state.shown.report != nullptr; }
bool HasSelection(const State& state) {
  return HasRun(state) &&
         (state.view.selected.interval.has_value() || state.view.selected.step_row.has_value());
}
bool CanFitSelection(const State& state) {
  return HasSelection(state) || state.measured.has_value() || state.view.range.has_value();
}
bool CanMeasure(const State& state) { return HasRun(state) && state.measured.has_value(); }
bool HasRange(const State& state) { return state.view.range.has_value(); }
bool CanFindNext(const State& state) { return state.find_hits > 0; }
bool CanRecord(const State& state) {
  return !state.record.problem.has_value() && !state.record.running && !state.sweep.running &&
         !state.verify.running;
}
bool Records(const State& state) { return state.record.running; }
bool CanSweep(const State& state) {
  return HasReport(state) && state.sweep.points > 0 && !state.sweep.running;
}
bool CanVerify(const State& state) { return HasReport(state) && !state.verify.running; }
bool HasSeveral(const State& state) { return state.runs.size() > 1; }
bool HasSpans(const State& state) { return HasRun(state) && state.spans.list != nullptr; }
bool Works(const State& state) { return !state.jobs.empty(); }
bool HasBookmarks(const State& state) { return !state.bookmarks.empty(); }

// The element or batch of the selection.
ItemId SelectedItem(const State& state) {
  const session::OpenRun* const run = state.Active();
  if (run == nullptr || run->spans == nullptr) return {};
  const session::Selection& selected = state.view.selected;
  if (selected.interval.has_value() && run->spans->RowOf(*selected.interval).has_value()) {
    return run->spans->At(*selected.interval).item;
  }
  if (selected.step_row.has_value() && *selected.step_row < run->run->rows.steps.size()) {
    return run->run->rows.steps[*selected.step_row].batch;
  }
  return {};
}
bool HasItem(const State& state) { return SelectedItem(state).known(); }

template <class T>
void Send(const State&, Intents& intents) {
  intents.Add(T{});
}
template <Panel kPanel>
void Show(const State&, Intents& intents) {
  intents.Add(intent::ShowPanel{kPanel});
}
template <Overlay kOverlay>
void Lay(const State&, Intents& intents) {
  intents.Add(intent::SetOverlay{kOverlay});
}
void Switch(const State& state, Intents& intents, size_t by) {
  for (size_t i = 0; i < state.runs.size(); ++i) {
    if (state.runs[i]->number != state.active) continue;
    intents.Add(intent::SwitchRun{state.runs[(i + by) % state.runs.size()]->number});
  }
}
void GoToNextBookmark(const State& state, Intents& intents) {
  // The first one that starts after the visible range; after the last comes the first.
  size_t next = 0;
  for (size_t i = 0; i < state.bookmarks.size(); ++i) {
    const int64_t start = state.bookmarks[i].visible.start_ns;
    const int64_t best = state.bookmarks[next].visible.start_ns;
    const int64_t now = state.view.visible.start_ns;
    if (start > now && (best <= now || start < best)) next = i;
  }
  intents.Add(intent::GoToBookmark{next});
}
void Scale(const State& state, Intents& intents, double by) {
  const double now = state.settings.scale == 0 ? 1 : state.settings.scale;
  intents.Add(intent::SetScale{now * by});
}

constexpr auto kCommands = std::to_array<Command>({
    {"file.open", "Open trace...", Menu::kFile, Ctrl('O'), Always, Send<intent::OpenFile>},
    {"file.compare", "Compare with another trace...", Menu::kFile, CtrlShift('O'), HasRun,
     [](const State&, Intents& intents) {
       intents.Add(intent::OpenFile{"", true});
     }},
    {"file.close", "Close run", Menu::kFile, Ctrl('W'),
     [](const State& state) { return state.Active() != nullptr; },
     [](const State& state, Intents& intents) { intents.Add(intent::CloseRun{state.active}); }},
    {"file.html", "Export report as HTML...", Menu::kFile, Ctrl('E'), HasReport,
     Send<intent::ExportHtml>},
    {"file.picture", "Export panel as a picture...", Menu::kFile, CtrlShift('E'), Always,
     [](const State& state, Intents& intents) {
       intents.Add(intent::ExportPicture{state.view.panel, ""});
     }},
    {"file.spans", "Export listed spans as CSV...", Menu::kFile, kNoKey, HasSpans,
     Send<intent::ExportSpans>},
    {"file.quit", "Quit", Menu::kFile, Ctrl('Q'), Always, Send<intent::Quit>},

    {"view.zoom-in", "Zoom in", Menu::kView, On('W'), HasRun,
     [](const State&, Intents& intents) {
       intents.Add(intent::Zoom{kZoomStep, {}});
     },
     On('+'), true},
    {"view.zoom-out", "Zoom out", Menu::kView, On('S'), HasRun,
     [](const State&, Intents& intents) {
       intents.Add(intent::Zoom{1 / kZoomStep, {}});
     },
     On('-'), true},
    {"view.pan-left", "Pan left", Menu::kView, On('A'), HasRun,
     [](const State&, Intents& intents) { intents.Add(intent::Pan{-kPanStep}); }, On(Key::kLeft),
     true},
    {"view.pan-right", "Pan right", Menu::kView, On('D'), HasRun,
     [](const State&, Intents& intents) { intents.Add(intent::Pan{kPanStep}); }, On(Key::kRight),
     true},
    {"view.fit", "Fit whole run", Menu::kView, On('F'), HasRun, Send<intent::Fit>, On(Key::kHome)},
    {"view.fit-selection", "Fit selection", Menu::kView, Shift('F'), CanFitSelection,
     Send<intent::FitSelection>},
    {"view.limit", "Limit all panels to the measured range", Menu::kView, On('L'), CanMeasure,
     [](const State& state, Intents& intents) { intents.Add(intent::LimitRange{state.measured}); },
     On(Key::kEnter)},
    {"view.unlimit", "Show the whole run in all panels", Menu::kView, Shift('L'), HasRange,
     Send<intent::LimitRange>},
    {"view.theme", "Switch between light and dark", Menu::kView, Ctrl('T'), Always,
     [](const State& state, Intents& intents) {
       const bool dark = state.settings.theme == session::Theme::kDark;
       intents.Add(intent::SetTheme{dark ? session::Theme::kLight : session::Theme::kDark});
     }},
    {"view.larger", "Larger text", Menu::kView, Ctrl('+'), Always,
     [](const State& state, Intents& intents) { Scale(state, intents, 1.1); }, Ctrl('='), true},
    {"view.smaller", "Smaller text", Menu::kView, Ctrl('-'), Always,
     [](const State& state, Intents& intents) { Scale(state, intents, 1 / 1.1); }, kNoKey, true},
    {"view.plain-size", "Reset text size", Menu::kView, Ctrl('0'), Always, Send<intent::SetScale>},

    {"go.back", "Back", Menu::kGo, Alt(Key::kLeft),
     [](const State& state) { return state.can_go_back; }, Send<intent::GoBack>,
     On(Key::kBackspace)},
    {"go.forward", "Forward", Menu::kGo, Alt(Key::kRight),
     [](const State& state) { return state.can_go_forward; }, Send<intent::GoForward>},
    {"go.find", "Find...", Menu::kGo, Ctrl('F'), HasRun, Lay<Overlay::kFind>, On('/')},
    {"go.find-next", "Next match", Menu::kGo, On('N'), CanFindNext,
     [](const State&, Intents& intents) { intents.Add(intent::FindNext{1}); }, Ctrl('G'), true},
    {"go.find-previous", "Previous match", Menu::kGo, Shift('N'), CanFindNext,
     [](const State&, Intents& intents) { intents.Add(intent::FindNext{-1}); }, CtrlShift('G'),
     true},
    {"go.bookmark", "Bookmark this view", Menu::kGo, On('M'), HasRun, Send<intent::AddBookmark>},
    {"go.next-bookmark", "Next bookmark", Menu::kGo, On('B'), HasBookmarks, GoToNextBookmark},
    {"go.next-run", "Next run", Menu::kGo, Ctrl(Key::kTab), HasSeveral,
     [](const State& state, Intents& intents) { Switch(state, intents, 1); }},
    {"go.previous-run", "Previous run", Menu::kGo, CtrlShift(Key::kTab), HasSeveral,
     [](const State& state, Intents& intents) { Switch(state, intents, state.runs.size() - 1); }},

    {"select.next", "Next in the same stage", Menu::kSelection, On('.'), HasSelection,
     [](const State&, Intents& intents) { intents.Add(intent::StepSame{1}); }, kNoKey, true},
    {"select.previous", "Previous in the same stage", Menu::kSelection, On(','), HasSelection,
     [](const State&, Intents& intents) { intents.Add(intent::StepSame{-1}); }, kNoKey, true},
    {"select.follow", "Follow this element or batch", Menu::kSelection, On('P'), HasItem,
     [](const State& state, Intents& intents) {
       intents.Add(intent::FollowItem{SelectedItem(state)});
     }},
    {"select.none", "Dismiss or deselect", Menu::kSelection, On(Key::kEscape), Always,
     Send<intent::Escape>},

    {"panel.overview", "Overview", Menu::kPanel, On('1'), Always, Show<Panel::kOverview>},
    {"panel.timeline", "Timeline", Menu::kPanel, On('2'), Always, Show<Panel::kTimeline>},
    {"panel.pipeline", "Pipeline", Menu::kPanel, On('3'), Always, Show<Panel::kPipeline>},
    {"panel.stalls", "Stalls", Menu::kPanel, On('4'), Always, Show<Panel::kStalls>},
    {"panel.steps", "Steps", Menu::kPanel, On('5'), Always, Show<Panel::kSteps>},
    {"panel.findings", "Findings", Menu::kPanel, On('6'), Always, Show<Panel::kFindings>},
    {"panel.sweep", "Sweep", Menu::kPanel, On('7'), Always, Show<Panel::kSweep>},
    {"panel.compare", "Compare", Menu::kPanel, On('8'), Always, Show<Panel::kCompare>},
    {"panel.record", "Record", Menu::kPanel, On('9'), Always, Show<Panel::kRecord>},
    {"panel.spans", "Spans", Menu::kPanel, On('0'), Always, Show<Panel::kSpans>},
    {"panel.run", "Run", Menu::kPanel, On('R'), Always, Show<Panel::kRun>},

    {"tools.verify", "Verify all recommendations", Menu::kTools, Ctrl('R'), CanVerify,
     Send<intent::Verify>},
    {"tools.sweep", "Start sweep", Menu::kTools, kNoKey, CanSweep, Send<intent::StartSweep>},
    {"tools.open-sweep", "Open sweep...", Menu::kTools, kNoKey, Always, Send<intent::OpenSweep>},
    {"tools.record", "Start recording", Menu::kTools, On(Key::kF5), CanRecord,
     Send<intent::StartRecording>},
    {"tools.stop", "Stop recording", Menu::kTools, Shift(Key::kF5), Records,
     Send<intent::StopRecording>},
    {"tools.open-spec", "Open spec...", Menu::kTools, kNoKey, Always, Send<intent::OpenSpec>},
    {"tools.save-spec", "Save spec...", Menu::kTools, Ctrl('S'), Always, Send<intent::SaveSpec>},
    {"tools.cancel", "Cancel running work", Menu::kTools, kNoKey, Works,
     [](const State& state, Intents& intents) {
       for (const session::Job& job : state.jobs) intents.Add(intent::CancelJob{job.number});
     }},

    {"help.palette", "Command palette...", Menu::kHelp, CtrlShift('P'), Always,
     Lay<Overlay::kPalette>},
    {"help.keys", "Keyboard and mouse", Menu::kHelp, On('?'), Always, Lay<Overlay::kHelp>,
     On(Key::kF1)},
    {"help.tour", "Take the tour", Menu::kHelp, kNoKey, Always, Send<intent::TourStep>},
});

std::string KeyText(Key key) {
  constexpr std::array<std::string_view, 17> kNames = {
      "Esc",  "Enter", "Tab",    "Backspace", "Delete", "Left", "Right", "Up", "Down",
      "Home", "End",   "PageUp", "PageDown",  "F1",     "F5",   "F11",   ""};
  if (key == Key::kNone) return {};
  const auto code = static_cast<size_t>(key);
  if (code < 256) return std::string(1, static_cast<char>(code));
  return std::string(kNames[std::min(code - 256, kNames.size() - 1)]);
}

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Lower is better; negative: the letters do not occur in this order.
int DistanceOf(std::string_view text, std::string_view name) {
  int distance = 0;
  size_t at = 0;
  for (const char wanted : text) {
    const size_t from = at;
    while (at < name.size() && Lower(name[at]) != Lower(wanted)) ++at;
    if (at == name.size()) return -1;
    const bool begins_word = at == 0 || name[at - 1] == ' ';
    if (at > from) distance += begins_word ? 1 : 3 + static_cast<int>(at - from);
    ++at;
  }
  return distance;
}

}  // namespace

std::string NameOf(const Chord& chord) {
  if (chord.key == Key::kNone) return {};
  return std::string(chord.ctrl ? "Ctrl+" : "") + (chord.alt ? "Alt+" : "") +
         (chord.shift ? "Shift+" : "") + KeyText(chord.key);
}

std::string_view TitleOf(Menu menu) {
  constexpr std::array<std::string_view, kMenus> kTitles = {"File",  "View",  "Go",  "Selection",
                                                            "Panel", "Tools", "Help"};
  return kTitles[static_cast<size_t>(menu)];
}

std::span<const Command> AllCommands() { return kCommands; }

std::vector<const Command*> SearchCommands(std::string_view text, const session::State& state) {
  std::vector<std::pair<int, const Command*>> found;
  for (const Command& command : kCommands) {
    if (!command.enabled(state)) continue;
    const int distance = DistanceOf(text, command.name);
    if (distance >= 0) found.emplace_back(distance, &command);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Command*> commands;
  for (const auto& [distance, command] : found) commands.push_back(command);
  return commands;
}

}  // namespace stallscope::viewmodel
