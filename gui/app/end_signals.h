// Handles TERM, HUP and INT: the window closes as if by its user and saves what closing saves. A
// signal that was ignored when the program started stays ignored (nohup), and a second one kills
// the program. One object at a time; the main thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>

#include "analyzer/base/thread.h"

namespace stallscope::app {

class EndSignals {
 public:
  // `on_signal` is called by a thread of its own, once asked() is true. Without a pipe or a
  // thread the signals are left as they are.
  explicit EndSignals(std::function<void()> on_signal);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  bool asked() const { return asked_; }

 private:
  const std::function<void()> on_signal_;
  std::array<int, 2> pipe_{-1, -1};
  std::atomic<bool> asked_{false};
  ThreadGroup thread_;
};

}  // namespace stallscope::app
