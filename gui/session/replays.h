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
  void On(const intent::StartSweep&);
  void On(const intent::OpenSweep& open);
  void On(const intent::Verify& verify);
  void On(const intent::ConfirmRerun&);
  void On(const intent::CancelRerun&);

  // For a process that ends without destructors; nothing may be replayed after it.
  void RemoveScratch() { scratch_.reset(); }
  // A question that was put away is one that was answered with no.
  void Refresh();

 private:
  using Waiting = std::variant<intent::Verify, intent::StartSweep>;
  // False where the run brought something that its user has not agreed to: they are asked, and
  // `wanted` waits for the answer.
  bool MayRun(const ReplaySubject& subject, const Waiting& wanted);
  // What a worker needs of the active run; nothing, and a notice, where it is not analysed yet.
  std::optional<ReplaySubject> Subject();
  // For sweeps of traces whose folder cannot be written to; goes with the program.
  std::string Fallback();

  Desk& desk_;
  Runs& runs_;
  std::optional<ScratchFolder> scratch_;
  std::optional<Waiting> waiting_;
  RunNumber asked_about_ = kNoRun;
  // What was agreed to for a run: another reading of its file may bring something else.
  std::map<RunNumber, Question> agreed_;
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_REPLAYS_H_
