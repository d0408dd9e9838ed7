// The desktop's file dialog as a separate process (zenity or kdialog): the window never waits for
// it. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace stallscope::app {

enum class DialogKind { kOpen, kSave };

// The command for a dialog; empty if neither program is in `path` (as $PATH). Prefers kdialog on a
// KDE desktop.
std::vector<std::string> DialogCommand(DialogKind kind, const std::string& suggested,
                                       const std::string& path, const std::string& desktop);

class FileDialog {
 public:
  FileDialog() = default;
  ~FileDialog();  // ends the dialog
  FileDialog(const FileDialog&) = delete;
  FileDialog& operator=(const FileDialog&) = delete;

  // False if no dialog could be started; closes one that is open.
  bool Start(const std::vector<std::string>& command);
  bool open() const { return child_ > 0; }
  // Never waits. Has a value once the dialog is closed: the path, or empty if it was canceled.
  std::optional<std::string> Poll();

 private:
  void End();

  pid_t child_ = -1;
  int pipe_ = -1;  // the dialog's stdout
  std::string said_;
};

}  // namespace stallscope::app
