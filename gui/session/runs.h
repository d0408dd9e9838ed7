// Opening, following and closing runs. Private to the room; the session's thread.
#pragma once

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

  // `active`: show it once there is something to show.
  RunNumber Open(const std::vector<std::string>& paths, bool active);
  // The report of a run has new measured gains.
  void SetReport(RunNumber run, std::shared_ptr<const report::Report> report);
  // For a recording that replaced an open trace: closes the earlier run.
  RunNumber Reopen(const std::string& path);
  // Saves changes beside the traces: bookmarks and folded lanes, by a worker; `at_end`: the views
  // too, before this returns.
  void KeepNotes(bool at_end);

 private:
  struct Source {
    std::vector<std::string> paths;
    SideNotes notes;                 // as read or last saved
    std::shared_ptr<SideFile> side;  // null: not read yet, or not ours
    // While it is followed. One job at a time reads it.
    std::shared_ptr<model::GrowingTrace> growing;
  };
  void Load(RunNumber run);
  std::shared_ptr<const model::Run> Read(Ticket& job, RunNumber run,
                                         const std::vector<std::string>& paths);
  void Examine(Ticket& job, RunNumber run, const std::shared_ptr<const model::Run>& whole);
  bool GaveUp(Ticket& job, RunNumber run);
  struct Grown;
  // `last`: nothing writes it any more.
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

// A file's current size; 0 if it does not exist.
uint64_t SizeOf(const std::string& path);
// A file's short name.
std::string TitleOf(const std::string& path);
// Whether its file may still grow: it has no seal.
bool MayGrow(const model::Run& run);
// The last depth of each queue of a run.
std::vector<QueueGauge> GaugesOf(const model::Run& run);

}  // namespace stallscope::session
