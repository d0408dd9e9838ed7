// What views ask for. A view changes nothing itself: it adds intents while it draws, and the
// session takes them between frames. Plain data; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gui/session/state.h"
#include "gui/session/view.h"

namespace stallscope::session {

namespace intent {

// --- Runs ---
struct OpenFile {
  std::string path;      // empty: ask
  bool as_base = false;  // to compare the active run with
};
struct OpenRanks {
  std::vector<std::string> paths;  // of one run
};
struct CloseRun {
  RunNumber run = kNoRun;
};
struct SwitchRun {
  RunNumber run = kNoRun;
};
struct SetBase {
  RunNumber run = kNoRun;  // kNoRun: compare with nothing
};
struct LinkZoom {
  bool linked = true;
};

// --- View ---
struct ShowPanel {
  Panel panel = Panel::kOverview;
};
// Moves the visible range; the many small moves of a gesture are one undo step.
struct ShowRange {
  Range visible;
  bool same_gesture = false;
};
struct Zoom {
  double factor = 1;             // above 1: zoom in
  std::optional<int64_t> at_ns;  // stays in place; empty: the middle
};
struct Pan {
  double widths = 0;  // of the visible range; above 0: to the right
};
struct Fit {};
struct FitSelection {};
struct ScrollLanes {
  double first_row = 0;
};
struct ToggleLane {
  std::string key;
};
struct Measure {
  std::optional<Range> range;
};
struct LimitRange {
  std::optional<Range> range;  // empty: the whole run again
};
struct GoBack {};
struct GoForward {};
struct AddBookmark {
  std::string name;  // empty: "bookmark 3"
};
struct RemoveBookmark {
  size_t index = 0;
};
struct GoToBookmark {
  size_t index = 0;
};

// --- Selection ---
struct Select {
  Selection selection;
  bool reveal = false;  // bring it into view on the timeline
};
struct SelectStep {
  uint64_t step_row = 0;
  bool go_to_timeline = false;
};
struct FollowItem {
  ItemId item;  // none: stop
};
// The next (+1) or previous (-1) interval of the same stage on the same track.
struct StepSame {
  int direction = 1;
};
// Jumps to a finding's evidence.
struct ShowEvidence {
  size_t finding = 0;
  size_t evidence = 0;
};
struct Find {
  std::string text;
};
struct FindNext {
  int direction = 1;
};

// --- Tables ---
struct QuerySpans {
  SpanQuery query;
};
struct SelectSpanRows {
  size_t first = 0;
  size_t last = 0;
};
// The session puts the text into Request::kCopy.
struct CopyText {
  std::string text;
};

// --- Findings ---
struct Verify {
  std::optional<size_t> finding;  // empty: each of them, then the best combination
};
struct SavePatchedSpec {
  size_t finding = 0;
  std::string path;  // empty: ask
};

// Answers to State::question: what was asked for continues, or does not.
struct ConfirmRerun {};
struct CancelRerun {};
// Where the run's data is now; remembered for as long as the run is open.
struct FindData {
  std::string folder;  // empty: ask
};
// Runs stages of the recorded cost instead.
struct EmulateRerun {};

// --- Sweep ---
struct EditSweep {
  std::vector<std::string> vary;
  SweepRunMode mode = SweepRunMode::kSimulate;
  unsigned repeats = 1;
};
struct StartSweep {};
struct OpenSweep {
  std::string path;  // empty: ask
};

// --- Record ---
struct EditSpec {
  std::string text;
};
struct SetKnob {
  std::string path;
  std::string value;
};
struct OpenSpec {
  std::string path;  // empty: ask
};
struct SaveSpec {
  std::string path;  // empty: ask
};
struct StartRecording {
  std::string output;  // empty: a new name beside the spec
};
struct StopRecording {};

// --- Files ---
struct ExportHtml {
  std::string path;  // empty: ask
};
struct ExportPicture {
  Panel panel = Panel::kOverview;
  std::string path;  // empty: ask
};
struct ExportSpans {
  std::string path;  // CSV of the listed rows; empty: ask
};

// --- The program ---
struct CancelJob {
  JobNumber job = 0;
};
struct DismissNotice {
  uint32_t notice = 0;
};
struct Complain {
  NoticeLevel level = NoticeLevel::kWarning;
  std::string text;  // a notice of the program's own: "no OpenGL 3"
};
struct SetOverlay {
  Overlay overlay = Overlay::kNone;
};
// Esc: closes the topmost of overlay, measure, selection, range.
struct Escape {};
struct TourStep {
  int step = 0;  // 3: done
};
struct AskToOpen {
  OpenWhat what = OpenWhat::kTrace;
};
struct SetTheme {
  Theme theme = Theme::kDark;
};
struct SetScale {
  double scale = 0;  // 0: the screen's
};
struct SetPanelSize {
  Panel panel = Panel::kOverview;
  PanelSize size;
};
// Saved for the next start.
struct SetWindowSize {
  int width = 0;
  int height = 0;
};
struct Quit {};

}  // namespace intent

using Intent = std::variant<
    intent::OpenFile, intent::OpenRanks, intent::CloseRun, intent::SwitchRun, intent::SetBase,
    intent::LinkZoom, intent::ShowPanel, intent::ShowRange, intent::Zoom, intent::Pan, intent::Fit,
    intent::FitSelection, intent::ScrollLanes, intent::ToggleLane, intent::Measure,
    intent::LimitRange, intent::GoBack, intent::GoForward, intent::AddBookmark,
    intent::RemoveBookmark, intent::GoToBookmark, intent::Select, intent::SelectStep,
    intent::FollowItem, intent::StepSame, intent::ShowEvidence, intent::Find, intent::FindNext,
    intent::QuerySpans, intent::SelectSpanRows, intent::CopyText, intent::Verify,
    intent::SavePatchedSpec, intent::ConfirmRerun, intent::CancelRerun, intent::FindData,
    intent::EmulateRerun, intent::EditSweep, intent::StartSweep, intent::OpenSweep,
    intent::EditSpec, intent::SetKnob, intent::OpenSpec, intent::SaveSpec, intent::StartRecording,
    intent::StopRecording, intent::ExportHtml, intent::ExportPicture, intent::ExportSpans,
    intent::CancelJob, intent::DismissNotice, intent::Complain, intent::SetOverlay, intent::Escape,
    intent::TourStep, intent::AskToOpen, intent::SetTheme, intent::SetScale, intent::SetWindowSize,
    intent::SetPanelSize, intent::Quit>;

class Intents {
 public:
  template <class T>
  void Add(T intent) {
    list_.emplace_back(std::move(intent));
  }
  const std::vector<Intent>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  void Clear() { list_.clear(); }

 private:
  std::vector<Intent> list_;
};

}  // namespace stallscope::session
