// Ctrl-C and a polite kill, as a question that long commands ask.
#ifndef STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_
#define STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_

namespace stallscope::cli {

// While one lives, SIGINT and SIGTERM are only noted. The second one has its usual effect again:
// who presses Ctrl-C twice does not want to wait for a clean end.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  using Handler = void (*)(int);
  Handler old_interrupt_;
  Handler old_terminate_;
};

// Any thread.
bool Interrupted();

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_INTERRUPT_H_
