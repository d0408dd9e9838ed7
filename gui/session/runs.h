// Opening, following and closing runs. Private to the room; the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_RUNS_H_
#define STALLSCOPE_GUI_SESSION_RUNS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/model/growing_trace.h"
#include "gui/session/desk.h"
#include "gui/session/follower.h"
#include "gui/session/intents.h"
#include "gui/session/navigation.h"

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
  // Bookmarks and views into the files beside the traces, at once: for the end.
  void KeepNotes();

 private:
  struct Source {
    std::vector<std::string> paths;
    SideNotes notes;
    bool notes_are_ours = true;  // false: what lies beside the trace is somebody else's
    // While it is followed. One job at a time reads it: the next is started when this one is done.
    std::shared_ptr<model::GrowingTrace> growing;
  };
  void Load(RunNumber run);
  std::shared_ptr<const model::Run> Read(Ticket& job, RunNumber run,
                                         const std::vector<std::string>& paths);
  void Examine(Ticket& job, RunNumber run, const std::shared_ptr<const model::Run>& whole);
  bool GaveUp(Ticket& job, RunNumber run);
  struct Grown;
  void ReadAgain(RunNumber run);
  void ShowGrown(RunNumber run, const Grown& grown);
  void Took(RunNumber run, std::shared_ptr<const model::Run> read, uint64_t bytes);
  void StartFollowing(RunNumber run);
  void Failed(RunNumber run, const Error& error);
  void OnFileEvent(RunNumber run, Follower::Event event, uint64_t bytes);
  void Show(RunNumber run);
  void SaveNotes(RunNumber run, bool now);

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
// Whether its file may still be written.
bool MayGrow(const model::Run& run);
// The last depth of each queue of a run.
std::vector<QueueGauge> GaugesOf(const model::Run& run);

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_RUNS_H_
