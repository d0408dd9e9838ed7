// Sweeps and verifications of the active run. Private to the room; the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_REPLAYS_H_
#define STALLSCOPE_GUI_SESSION_REPLAYS_H_

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

  // For a process that ends without destructors; nothing may be replayed after it.
  void RemoveScratch() { scratch_.reset(); }
  // A question that was put away is one that was answered with no.
  void Refresh();

 private:
  using Wanted = std::variant<intent::Verify, intent::StartSweep>;
  // What was agreed to or told of a run, for as long as it is open. Another reading of its file may
  // bring something else to agree to.
  struct Known {
    std::optional<Question> agreed;
    std::string folder;  // where its data is
  };
  void Start(const intent::Verify& verify, bool emulate);
  void Start(const intent::StartSweep&, bool emulate);
  // False where the run brought something that its user has not agreed to: they are asked, and
  // `wanted` waits for the answer.
  bool MayRun(const ReplayCall& call, const Wanted& wanted);
  void Ask(Question question, const Wanted& wanted, RunNumber about);
  // What was waiting for the answer about the active run; nothing where nothing was.
  std::optional<Wanted> TakeWanted();
  // What a worker needs of the active run; nothing, and a notice, where it is not analysed yet.
  std::optional<ReplayCall> Call(bool emulate);
  // For sweeps of traces whose folder cannot be written to; goes with the program.
  std::string Fallback();
  void Verified(const ReplayEnd& end, RunNumber run);
  // Its data was not found: by the session's thread, which asks for its place.
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

#endif  // STALLSCOPE_GUI_SESSION_REPLAYS_H_
