#include "replay/sweep/host_turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace stallscope::replay {
namespace {

// In /tmp, not in a user's own folder: the turn is the host's, whoever measures.
constexpr const char* kPath = "/tmp/stallscope-measure.lock";
constexpr useconds_t kLookEveryUs = 50'000;

// A sticky folder lets nobody create a file that is somebody else's, so the one that is there is
// tried first.
int OpenTurn() {
  const int there = open(kPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (there >= 0 || errno != ENOENT) return there;
  const int made = open(kPath, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  return made;
}

}  // namespace

Result<std::optional<HostTurn>> HostTurn::Await(const std::function<bool()>& stop_requested) {
  const int fd = OpenTurn();
  if (fd < 0) {
    return Error{ErrorKind::kRun,
                 std::string("the host's turn cannot be taken: ") + std::strerror(errno), kPath,
                 "make the file readable, or remove it"};
  }
  HostTurn turn(fd);
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error{ErrorKind::kRun,
                   std::string("the host's turn cannot be taken: ") + std::strerror(errno), kPath,
                   ""};
    }
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
