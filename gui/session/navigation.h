// The view: what part of the run is shown, what is selected, and the way back. Private to the room;
// the session's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gui/session/desk.h"
#include "gui/session/intents.h"
#include "gui/session/side_file.h"

namespace stallscope::session {

class Navigation {
 public:
  explicit Navigation(Desk& desk) : desk_(desk) {}

  void On(const intent::ShowPanel& show);
  void On(const intent::ShowRange& show);
  void On(const intent::Zoom& zoom);
  void On(const intent::Pan& pan);
  void On(const intent::Fit&);
  void On(const intent::FitSelection&);
  void On(const intent::ScrollLanes& scroll);
  void On(const intent::ToggleLane& toggle);
  void On(const intent::Measure& measure);
  void On(const intent::LimitRange& limit);
  void On(const intent::GoBack&);
  void On(const intent::GoForward&);
  void On(const intent::AddBookmark& add);
  void On(const intent::RemoveBookmark& remove);
  void On(const intent::GoToBookmark& go);
  void On(const intent::Select& select);
  void On(const intent::SelectStep& select);
  void On(const intent::FollowItem& follow);
  void On(const intent::StepSame& step);
  void On(const intent::ShowEvidence& show);
  void On(const intent::Escape&);

  bool can_go_back() const { return !back_.empty(); }
  bool can_go_forward() const { return !forward_.empty(); }
  // The run's whole time; empty where nothing is open.
  Range Whole() const { return WholeOf(desk_.state.active); }
  // What a run shows when it is opened.
  Range AtFirst() const;
  // For a run that grows: whoever sees all of it goes on seeing all of it.
  bool ShowsAll(RunNumber run) const;
  void ShowAll();
  // Puts the active run's view aside, and shows the one of another run, or `notes` the first time.
  void Leave();
  void Enter(RunNumber run, const SideNotes& notes);
  void Drop(RunNumber run) { kept_.erase(run); }
  // Nothing for a run that was never looked at: what is kept of it stays as it is.
  std::optional<SideNotes> NotesOf(RunNumber run) const;
  // Of `sent` another window made `now`: the same is done to what there is here by now.
  void Adopt(RunNumber run, const SideNotes& sent, const SideNotes& now);
  // Selects an interval, and moves the visible range to it where it lies outside.
  void Reveal(const IntervalRef& ref);

 private:
  struct Kept {
    View view;
    Layout layout;
    std::vector<Bookmark> bookmarks;
    std::vector<View> back;
    std::vector<View> forward;
  };
  // Before a change that undo takes back. Moves that follow each other at once are one.
  void Remember(bool same_gesture = false);
  Range WholeOf(RunNumber run) const;
  void RememberMove();
  void Show(Range visible);
  void Restore(std::vector<View>& from, std::vector<View>& to);
  Range TimeOf(const IntervalRef& ref) const;
  std::optional<Range> TimeOfSelection() const;
  void BringIntoView(Range what);
  std::optional<uint64_t> RowOfStep(uint64_t index) const;

  Desk& desk_;
  std::vector<View> back_;
  std::vector<View> forward_;
  View moved_from_;  // and to, by the last move, and when
  View moved_to_;
  int64_t moved_at_ns_ = 0;
  std::map<RunNumber, Kept> kept_;
};

}  // namespace stallscope::session
