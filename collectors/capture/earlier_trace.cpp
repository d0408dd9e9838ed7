#include "collectors/capture/earlier_trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace stallscope::capture {

Result<EarlierTrace> EarlierTrace::SetAside(const std::string& path) {
  EarlierTrace none(path, "");
  struct stat about {};
  // A link is not followed: what it points to may lie where nobody may rename.
  if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
    return none;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return none;
  const bool written = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  if (written) {
    return Error{ErrorKind::kRun, "another run is writing this file", path,
                 "wait for it to end, or name another file"};
  }
  std::string aside = path + ".before";
  // Who may write the file but not the folder overwrites it, as if it were not there.
  if (std::rename(path.c_str(), aside.c_str()) != 0) return none;
  return EarlierTrace(path, std::move(aside));
}

void EarlierTrace::PutBack() const {
  if (!aside_.empty()) std::rename(aside_.c_str(), path_.c_str());
}

void EarlierTrace::Forget() const {
  if (!aside_.empty()) unlink(aside_.c_str());
}

}  // namespace stallscope::capture
