// A thread that calls a function at a steady beat until it is told to stop.
//
// The beats lie at start + n * interval, so that they never drift; one that is missed (the machine
// was suspended, the call took longer) is left out, not made up for, and so is one before which the
// function has asked to sleep on. Stop() wakes the thread at
// once. An eventfd and ppoll() rather than a condition variable: ThreadSanitizer of gcc 12 does not
// know the call behind a timed wait on the steady clock.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_

#include <algorithm>
#include <cstdint>
#include <functional>

#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"

namespace stallscope::system {

class Pacer {
 public:
  Pacer() = default;
  ~Pacer();  // stops
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // What is called: with the time, it returns the time before which it need not be called again.
  using Beat = std::function<int64_t(int64_t now_ns)>;

  // Calls `beat` on a thread of its own, first after one interval, and last() once when it stops.
  // `name` (at most 15 bytes) is what debuggers show. What one of them throws ends the beat and is
  // told to `failed`, on that thread.
  Status Start(const char* name, int64_t interval_ns, Beat beat, std::function<void()> last,
               std::function<void(Error)> failed);
  // Returns when last() has. Harmless where nothing runs. One caller at a time.
  void Stop();

  // Of the beats at start_ns + n * interval_ns the first after `now_ns` that is not more than half
  // an interval before `wanted_ns`.
  static int64_t NextBeat(int64_t start_ns, int64_t interval_ns, int64_t now_ns,
                          int64_t wanted_ns) {
    const int64_t past = std::max(now_ns, wanted_ns - interval_ns / 2 - 1);
    return start_ns + ((past - start_ns) / interval_ns + 1) * interval_ns;
  }

 private:
  void Run(int64_t interval_ns);
  bool StoppedBefore(int64_t deadline_ns) const;

  int stop_ = -1;  // an eventfd
  Beat beat_;
  std::function<void()> last_;
  ThreadGroup thread_;
};

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_
