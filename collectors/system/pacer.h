// A thread that calls a function at a steady beat until it is told to stop.
//
// The beats lie at start + n * interval, so that they never drift; one that is missed (the machine
// was suspended, the call took longer) is left out, not made up for. Stop() wakes the thread at
// once. An eventfd and ppoll() rather than a condition variable: ThreadSanitizer of gcc 12 does not
// know the call behind a timed wait on the steady clock.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "analyzer/base/result.h"

namespace stallscope::system {

class Pacer {
 public:
  Pacer() = default;
  ~Pacer();  // stops
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Calls beat(now_ns) on a thread of its own, first after one interval, and last() once when it
  // stops. `name` (at most 15 bytes) is what debuggers show.
  Status Start(const char* name, int64_t interval_ns, std::function<void(int64_t)> beat,
               std::function<void()> last);
  // Returns when last() has. Harmless where nothing runs. One caller at a time.
  void Stop();

  // The beat after `now_ns` of those that begin at `start_ns`.
  static int64_t NextBeat(int64_t start_ns, int64_t interval_ns, int64_t now_ns) {
    return start_ns + ((now_ns - start_ns) / interval_ns + 1) * interval_ns;
  }

 private:
  void Run(int64_t interval_ns);
  bool StoppedBefore(int64_t deadline_ns) const;

  int stop_ = -1;  // an eventfd
  std::function<void(int64_t)> beat_;
  std::function<void()> last_;
  std::thread thread_;
};

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_PACER_H_
