// Ctrl-C, SIGTERM and a closed terminal, as a flag that long commands poll.
#pragma once

#include <array>

#include "analyzer/base/cancel.h"

namespace stallscope::cli {

// While one lives, SIGINT, SIGTERM and SIGHUP only raise the flag; an ignored SIGHUP (nohup) stays
// ignored. A second signal has its usual effect again: a user who presses Ctrl-C twice does not
// want to wait for a clean end. Create it after anything that may block on another process, such
// as opening a pipe.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  using Handler = void (*)(int);
  std::array<Handler, 3> old_{};
};

// Any thread.
Cancel Interruption();
inline bool Interrupted() { return Interruption().requested(); }

}  // namespace stallscope::cli
