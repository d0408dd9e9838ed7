// Ctrl-C, a polite kill and a terminal that goes away, as a question that long commands ask.
#ifndef STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_
#define STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_

#include <array>

#include "analyzer/base/cancel.h"

namespace stallscope::cli {

// While one lives, SIGINT, SIGTERM and SIGHUP are only noted; SIGHUP not where it was ignored, as
// nohup has it. The second one has its usual effect again: who presses Ctrl-C twice does not want
// to wait for a clean end. What may wait for somebody else, as opening a pipe does, comes before.
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

#endif  // STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_
