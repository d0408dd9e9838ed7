// Sweeps and verifications of the active run. Private to the room; the session's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "analyzer/base/folders.h"
#include "gui/session/desk.h"
#include "gui/session/intents.h"
#include "gui/session/replaying.h"
#include "gui/session/runs.h"

namespace stallscope::session {

class Replays {
 public:
  Replays(Desk& desk, Runs& runs) : desk_(desk), runs_(runs) {}

  void On(const intent::EditSweep& edit);
  void On(const intent::StartSweep& start) { Start(start, /*emulate=*/false); }
  void On(const intent::OpenSweep& open);
  void On(const intent::Verify& verify) { Start(verify, /*emulate=*/false); }
  void On(const intent::ConfirmRerun&);
  void On(const intent::CancelRerun&);
  void On(const intent::FindData& find);
  void On(const intent::EmulateRerun&);

  // For a process that exits without destructors; nothing may be replayed afterward.
  void RemoveScratch() { scratch_.reset(); }
  // Takes a closed question as cancelled.
  void Refresh();

 private:
  using Wanted = std::variant<intent::Verify, intent::StartSweep>;
  // The user's answers about a run, for as long as it is open. Consent is to what was asked:
  // another reading of the file may ask for something else.
  struct Known {
    std::optional<Question> agreed;
    std::string folder;  // where its data is
  };
  void Start(const intent::Verify& verify, bool emulate);
  void Start(const intent::StartSweep&, bool emulate);
  // False where consent is missing: asks for it, and `wanted` waits for the answer.
  bool MayRun(const ReplayCall& call, const Wanted& wanted);
  void Ask(Question question, const Wanted& wanted, RunNumber about);
  // What was waiting for an answer about the active run, if anything.
  std::optional<Wanted> TakeWanted();
  // What a worker needs of the active run; empty, with a notice, if it is not analyzed yet.
  std::optional<ReplayCall> Call(bool emulate);
  // For sweeps of traces in read-only folders; removed with the program.
  std::string Fallback();
  // Calls `work` on a worker and shows its progress.
  void Run(JobKind kind, std::string title, const ReplayCall& call, const Wanted& wanted,
           std::function<Result<ReplayEnd>(const ReplayCall&)> work);
  ReplayProgress& ProgressOf(JobKind kind);
  void Show(JobKind kind, const ReplayTold& told);
  void Ended(JobKind kind, const ReplayCall& call, const Wanted& wanted,
             const Result<ReplayEnd>& end, RunNumber run);
  void Verified(const ReplayEnd& end, RunNumber run);
  // Asks where the data is now.
  void OnLostData(const ReplayCall& call, const ReplayEnd& end, const Wanted& wanted,
                  RunNumber run);

  Desk& desk_;
  Runs& runs_;
  std::optional<ScratchFolder> scratch_;
  std::optional<Wanted> waiting_;
  RunNumber asked_about_ = kNoRun;
  std::map<RunNumber, Known> known_;
};

}  // namespace stallscope::session
