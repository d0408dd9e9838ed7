// Folders that a process creates for itself: scratch that goes with it, and the user's state, which
// stays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

// An empty folder that no other user can enter. Its name is unpredictable, and a locked file in it
// shows that its process lives: the folder of a killed process is removed by the next Make() of the
// same user in the same place. One thread.
class ScratchFolder {
 public:
  // In TMPDIR, else in /tmp.
  static Result<ScratchFolder> Make();
  // In a folder of the user's, under a hidden name: for content that is renamed into place there.
  static Result<ScratchFolder> MakeIn(const std::string& within);
  // What MakeIn(within) would remove first.
  static void RemoveLeftOversIn(const std::string& within);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();  // removes it with its contents

  const std::string& path() const { return path_; }
  // Keeps it with its contents; it is no longer a scratch folder. A guarded one can be adopted.
  void Keep();
  // From now on it has contents that must not be lost. If the process dies, nobody removes it, and
  // a caller who knows the `note` can adopt it; a later note replaces the earlier one. False: see
  // errno.
  bool Guard(std::string_view note);
  // Those in `within` that a dead process guarded with this note. They are removed with the object
  // unless it is kept.
  static std::vector<ScratchFolder> AdoptIn(const std::string& within, std::string_view note);

 private:
  static Result<ScratchFolder> MakeNamed(const std::string& start, const char* hint);
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved away
  int lock_ = -1;
  bool guarded_ = false;
};

// Where this user's state is kept from run to run: below XDG_STATE_HOME, else ~/.local/state, else,
// for a user without a home, /tmp/stallscope-UID.
// Created as private if missing. Any thread.
Result<std::string> StateFolder();

}  // namespace stallscope
