#include "collectors/system/pacer.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::system {

Pacer::~Pacer() { Stop(); }

Status Pacer::Start(const char* name, int64_t interval_ns, Beat beat, std::function<void()> last,
                    std::function<void(Error)> failed) {
  Stop();
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0) {
    return Error{ErrorKind::kRun, std::string("no eventfd: ") + std::strerror(errno), name,
                 "raise the limit of open files"};
  }
  beat_ = std::move(beat);
  last_ = std::move(last);
  Status started = thread_.Start(
      [this, name = std::string(name), interval_ns] {
        pthread_setname_np(pthread_self(), name.c_str());
        Run(interval_ns);
      },
      std::move(failed));
  if (started.ok()) return {};
  close(std::exchange(stop_, -1));
  Error error = std::move(started).error();
  error.where = name;
  return error;
}

void Pacer::Stop() {
  if (thread_.size() == 0) return;
  const uint64_t one = 1;
  // Can only fail where the counter is full: then the thread has long been told.
  [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof one);
  thread_.Join();
  close(std::exchange(stop_, -1));
}

void Pacer::Run(int64_t interval_ns) {
  const int64_t start = MonotonicNs();
  int64_t deadline = start + interval_ns;
  while (!StoppedBefore(deadline)) {
    const int64_t wanted = beat_(MonotonicNs());
    deadline = NextBeat(start, interval_ns, MonotonicNs(), wanted);
  }
  last_();
}

bool Pacer::StoppedBefore(int64_t deadline_ns) const {
  pollfd watched{stop_, POLLIN, 0};
  for (;;) {
    const int64_t left = deadline_ns - MonotonicNs();
    const timespec wait{left > 0 ? left / kNsPerSecond : 0, left > 0 ? left % kNsPerSecond : 0};
    const int ready = ppoll(&watched, 1, &wait, nullptr);
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
  }
}

}  // namespace stallscope::system
