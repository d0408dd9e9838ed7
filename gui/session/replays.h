// Sweeps and verifications of the active run. Private to the room; the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_REPLAYS_H_
#define STALLSCOPE_GUI_SESSION_REPLAYS_H_

#include <memory>
#include <optional>
#include <string>

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

 private:
  // What a worker needs of the active run; nothing, and a notice, where it is not analysed yet.
  std::optional<ReplaySubject> Subject();
  // For sweeps of traces whose folder cannot be written to; goes with the program.
  std::string Fallback();

  Desk& desk_;
  Runs& runs_;
  std::optional<ScratchFolder> scratch_;
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_REPLAYS_H_
