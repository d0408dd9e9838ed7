// What the parts of a session work on: the state that is being changed, the workers, the options.
// Private to the room; the session's thread.
#ifndef STALLSCOPE_GUI_SESSION_DESK_H_
#define STALLSCOPE_GUI_SESSION_DESK_H_

#include <functional>
#include <string>
#include <utility>

#include "gui/session/session.h"
#include "gui/session/state.h"
#include "gui/session/workers.h"

namespace stallscope::session {

struct Desk {
  explicit Desk(SessionOptions given)
      : options(std::move(given)),
        workers(options.wake, [this](const Error& error) { Complain(error); }) {
    state.settings = options.settings;
    state.samples = options.samples;
  }

  const SessionOptions options;
  State state;
  bool changed = true;  // since the state was published

  void Notify(NoticeLevel level, std::string text);
  void Complain(const Error& error) { Notify(NoticeLevel::kError, error.Line()); }
  // A new request, which replaces the last one.
  Request& Ask(Request::Kind kind);
  // Asks for a file to read.
  void AskWhatToOpen(OpenWhat what);
  // Asks for a path that `what` will be written to.
  void AskWhereToSave(SaveWhat what, const std::string& suggestion);
  // Replaces a run by a changed copy; nothing where it was closed meanwhile.
  void Change(RunNumber run, const std::function<void(OpenRun&)>& change);

  uint32_t last_notice = 0;
  uint64_t last_request = 0;
  Workers workers;  // last: its jobs end before what they hand over to goes
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_DESK_H_
