#include "collectors/system/pacer.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::system {
namespace {

constexpr int64_t kLongestStretchedNs = kNsPerSecond;
constexpr double kMostStretch = 20;
constexpr int64_t kBalanceNs = kNsPerSecond / 2;

}  // namespace

Round::Round(std::vector<std::unique_ptr<Source>> sources, CounterSink& sink, RoundOptions options)
    : sink_(sink), options_(options) {
  entries_.reserve(sources.size());
  for (auto& source : sources) entries_.push_back({std::move(source)});
}

int64_t Round::SampleOnce(int64_t now_ns) {
  Balance(now_ns);
  int64_t next = std::numeric_limits<int64_t>::max();
  for (Entry& entry : entries_) {
    if (now_ns + options_.interval_ns / 2 >= entry.due_ns) {
      entry.source->Read(sink_, Effort::kBounded);
      entry.due_ns = NextDue(entry, now_ns);
    }
    next = std::min(next, entry.due_ns);
  }
  return next;
}

void Round::SampleAll(int64_t now_ns) {
  for (Entry& entry : entries_) {
    entry.source->Read(sink_, Effort::kComplete);
    entry.due_ns = NextDue(entry, now_ns);
  }
}

int64_t Round::NextDue(const Entry& entry, int64_t now_ns) const {
  const int64_t period = entry.source->period_ns();
  const auto stretched = static_cast<int64_t>(static_cast<double>(period) * stretch_);
  return now_ns + std::max(period, std::min(stretched, kLongestStretchedNs));
}

void Round::Balance(int64_t now_ns) {
  if (options_.cpu_share <= 0) return;
  const bool first = balanced_ns_ < 0;
  if (!first && now_ns - balanced_ns_ < kBalanceNs) return;
  const int64_t cpu = options_.cpu_clock();
  if (!first) {
    const double share =
        static_cast<double>(cpu - balanced_cpu_ns_) / static_cast<double>(now_ns - balanced_ns_);
    // Slow down at once, speed up gradually: one second is not like the next.
    const double excess = share / options_.cpu_share;
    const double correction = excess > 1 ? excess : std::sqrt(excess);
    stretch_ = std::clamp(stretch_ * correction, 1.0, kMostStretch);
  }
  balanced_ns_ = now_ns;
  balanced_cpu_ns_ = cpu;
}

std::vector<Absence> Round::absences() const {
  std::vector<Absence> all;
  for (const Entry& entry : entries_) {
    const auto& some = entry.source->absences();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Pacer::~Pacer() { Stop(); }

Status Pacer::Start(const char* name, int64_t interval_ns, Beat beat, std::function<void()> last,
                    std::function<void(Error)> failed) {
  Stop();
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0) {
    return Error{ErrorKind::kRun, std::string("cannot create an eventfd: ") + std::strerror(errno),
                 name, "raise the limit on open files (ulimit -n)"};
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
  // Fails only if the counter is full: then the thread has been notified already.
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
