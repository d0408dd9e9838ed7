#include "replay/sweep/host_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "analyzer/base/folders.h"

namespace stallscope::replay {
namespace {

constexpr useconds_t kLookEveryUs = 50'000;

Error Failed(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kRun, "cannot acquire the measurement lock: " + why, path,
               "remove the file, or set XDG_RUNTIME_DIR to a folder that you own"};
}

// As the XDG specification wants it: this user's, and nobody else may write there.
std::string RuntimeFolder() {
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  struct stat about {};
  if (folder == nullptr || folder[0] != '/' || stat(folder, &about) != 0 ||
      !S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
      (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "";
  }
  return folder;
}

// With the host's name: a home folder may be seen by many.
Result<std::string> LockPath() {
  std::string folder = RuntimeFolder();
  if (folder.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(folder, StateFolder());
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  std::string name = host.data();
  std::replace(name.begin(), name.end(), '/', '-');
  return folder + "/stallscope-measure-" + name + ".lock";
}

}  // namespace

Result<std::optional<HostTurn>> HostTurn::Await(const std::function<bool()>& stop_requested,
                                                const std::function<void()>& must_wait) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string path, LockPath());
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
  if (fd < 0) return Failed(path, std::strerror(errno));
  HostTurn turn(fd);
  struct stat about {};
  if (fstat(fd, &about) != 0) return Failed(path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return Failed(path, "not a regular file");
  if (about.st_uid != geteuid()) return Failed(path, "owned by another user");
  bool waiting = false;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return Failed(path, std::strerror(errno));
    if (!std::exchange(waiting, true) && must_wait) must_wait();
    if (stop_requested && stop_requested()) return std::optional<HostTurn>();
    usleep(kLookEveryUs);
  }
  return std::optional<HostTurn>(std::move(turn));
}

HostTurn::HostTurn(HostTurn&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

HostTurn::~HostTurn() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace stallscope::replay
