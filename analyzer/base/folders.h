// Folders that a process makes for itself: scratch that goes with it, and a user's own that stay.
#ifndef STALLSCOPE_ANALYZER_BASE_FOLDERS_H_
#define STALLSCOPE_ANALYZER_BASE_FOLDERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope {

// An empty folder that no other user can enter. Its name cannot be foreseen, and a file in it that
// is locked tells the living from the dead: one whose process was killed is removed by the next
// Make() of the same user in the same place. One thread.
class ScratchFolder {
 public:
  // In TMPDIR, else in /tmp.
  static Result<ScratchFolder> Make();
  // In a folder of the user's, under a name that `ls` does not show: for what gets its place there
  // by a rename.
  static Result<ScratchFolder> MakeIn(const std::string& within);
  // What MakeIn(within) would remove first.
  static void RemoveLeftOversIn(const std::string& within);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();  // removes it with what is in it

  const std::string& path() const { return path_; }
  // It stays, with what is in it, and is no scratch folder any more; one that is guarded can be
  // adopted.
  void Keep();
  // From now on it holds what must not be lost. Where the process dies, nobody removes it, and who
  // knows the `note` can adopt it. False: errno says why.
  bool Guard(std::string_view note);
  // Those in `within` that were guarded with this note and are nobody's any more; again they go
  // with the object, unless it is kept.
  static std::vector<ScratchFolder> AdoptIn(const std::string& within, std::string_view note);

 private:
  static Result<ScratchFolder> MakeNamed(const std::string& start, const char* hint);
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty once moved away
  int lock_ = -1;
  bool guarded_ = false;
};

// Where this user's state is kept from run to run (the XDG specification: XDG_STATE_HOME, else
// ~/.local/state). Made, closed to others, where there is none. Any thread.
Result<std::string> StateFolder();

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_FOLDERS_H_
