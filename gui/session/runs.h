// Opening, following and closing runs. Private to the room; the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_RUNS_H_
#define STALLSCOPE_GUI_SESSION_RUNS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/model/loader.h"
#include "gui/session/desk.h"
#include "gui/session/follower.h"
#include "gui/session/intents.h"
#include "gui/session/navigation.h"
#include "gui/session/side_file.h"

namespace stallscope::session {

class Runs {
 public:
  Runs(Desk& desk, Navigation& navigation);

  void On(const intent::OpenFile& open);
  void On(const intent::OpenRanks& open);
  void On(const intent::CloseRun& close);
  void On(const intent::SwitchRun& change);

  // `active`: it becomes the one that is shown, once there is something to show.
  RunNumber Open(const std::vector<std::string>& paths, bool active);
  // The report of a run has new measured gains.
  void SetReport(RunNumber run, std::shared_ptr<const report::Report> report);
  // For a recording that has taken the place of an open trace: the earlier one is closed.
  RunNumber OpenAnew(const std::string& path);
  // Into the files beside the traces, where something is new: bookmarks and folded lanes by a
  // worker; `at_end`: the views too, before this returns.
  void KeepNotes(bool at_end);

 private:
  struct Source {
    std::vector<std::string> paths;
    SideNotes notes;                 // as they were read or last kept
    std::shared_ptr<SideFile> side;  // null: nothing is read yet, or it is somebody else's
    // While it is followed. One job at a time reads it: the next is started when this one is done.
    std::shared_ptr<model::GrowingTrace> growing;
  };
  void Load(RunNumber run);
  std::shared_ptr<const model::Run> Read(Ticket& job, RunNumber run,
                                         const std::vector<std::string>& paths);
  void Examine(Ticket& job, RunNumber run, const std::shared_ptr<const model::Run>& whole);
  bool GaveUp(Ticket& job, RunNumber run);
  struct Grown;
  // `last`: nobody writes it any more.
  void ReadAgain(RunNumber run, bool last);
  void LoseSight(RunNumber run, const Error& error);
  void ShowGrown(RunNumber run, const Grown& grown);
  void Took(RunNumber run, std::shared_ptr<const model::Run> read, uint64_t bytes, bool written);
  void StartFollowing(RunNumber run);
  void Failed(RunNumber run, const Error& error);
  void OnFileEvent(RunNumber run, Follower::Event event, uint64_t bytes);
  void Show(RunNumber run);
  enum class When : uint8_t { kEarly, kClosed, kEnd };
  void SaveNotes(RunNumber run, When when);
  void NotesKept(RunNumber run, const SideNotes& sent, const SideFile::Outcome& outcome);

  Desk& desk_;
  Navigation& navigation_;
  std::map<RunNumber, Source> sources_;
  RunNumber last_number_ = kNoRun;
  Follower follower_;
};

// Of a file now; 0 where it is not there.
uint64_t SizeOf(const std::string& path);
// What a file is called where there is little room.
std::string TitleOf(const std::string& path);
// Whether its file may get longer: it has no seal.
bool MayGrow(const model::Run& run);
// The last depth of each queue of a run.
std::vector<QueueGauge> GaugesOf(const model::Run& run);

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_RUNS_H_
