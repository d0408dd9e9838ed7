// The edited spec and the running recording. Private to the room; the session's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectors/trainer/trainer.h"
#include "gui/session/desk.h"
#include "gui/session/intents.h"
#include "gui/session/runs.h"

namespace stallscope::session {

class Recordings {
 public:
  Recordings(Desk& desk, Runs& runs);

  void On(const intent::EditSpec& edit);
  void On(const intent::SetKnob& set);
  void On(const intent::OpenSpec& open);
  void On(const intent::SaveSpec& save);
  void On(const intent::StartRecording& start);
  void On(const intent::StopRecording&);

 private:
  void Check();
  void Begin(std::string output, uint64_t most_steps);
  void Show(const trainer::Progress& at, bool rate, bool open);
  void End(const std::optional<Error>& error, bool kept_earlier);
  // Opens the trace that is being written.
  void OpenWhatIsThere();
  std::string OutputFor(const std::string& given) const;

  Desk& desk_;
  Runs& runs_;
  JobNumber job_ = 0;
};

// A pipeline that runs anywhere: it generates its own data.
std::string ExampleSpec();

}  // namespace stallscope::session
