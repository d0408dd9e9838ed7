// What the parts of a session share: the state being changed, the workers, the options.
// Private to the room; the session's thread.
#pragma once

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
  // A new request; replaces the last one.
  Request& Ask(Request::Kind kind);
  // Asks for a file to read.
  void AskWhatToOpen(OpenWhat what);
  // Asks where to write `what`.
  void AskWhereToSave(SaveWhat what, const std::string& suggestion);
  // Replaces a run by a changed copy; no effect if it was closed meanwhile.
  void Change(RunNumber run, const std::function<void(OpenRun&)>& change);

  uint32_t last_notice = 0;
  uint64_t last_request = 0;
  Workers workers;  // last: its jobs end before the parts that they hand over to
};

}  // namespace stallscope::session
