// What is written for others, and what the program keeps of its user. Private to the room; the
// session's thread.
#pragma once

#include <memory>
#include <string>

#include "gui/session/desk.h"
#include "gui/session/intents.h"

namespace stallscope::session {

class Files {
 public:
  explicit Files(Desk& desk);

  void On(const intent::ExportHtml& html);
  void On(const intent::ExportPicture& picture);
  void On(const intent::ExportSpans& spans);
  void On(const intent::SavePatchedSpec& save);
  void On(const intent::SetTheme& theme);
  void On(const intent::SetScale& scale);
  void On(const intent::TourStep& step);
  void On(const intent::SetWindowSize& size);

  // Writes the settings where they have changed; `at_end`: before this returns.
  void KeepSettings(bool at_end);

 private:
  // The run that figures are of, or a notice.
  const OpenRun* Analyzed();
  void Report(Ticket& job, const Status& done, const std::string& path);
  // False, and a notice, where the window has the file open.
  bool MayWriteTo(const std::string& path);

  Desk& desk_;
  const std::shared_ptr<SettingsFile> settings_;  // null: they are not kept
};

}  // namespace stallscope::session
