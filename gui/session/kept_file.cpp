#include "gui/session/kept_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace stallscope::session {
namespace {

// Who holds it writes a few kilobytes. Whoever holds it longer, on purpose or not, must not keep
// the window from closing.
constexpr int kLooks = 100;
constexpr useconds_t kLookEveryUs = 10'000;

}  // namespace

// Of the folder: the file itself is replaced, and a file for the lock would lie about.
FolderTurn::FolderTurn(const std::string& file) {
  std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty()) folder = ".";
  fd_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) return;
  for (int look = 0; look < kLooks; ++look) {
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    usleep(kLookEveryUs);
  }
}

FolderTurn::~FolderTurn() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace stallscope::session
