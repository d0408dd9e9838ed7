// Starts a program as if the user had started it, and passes on the signals that are meant for it.
//
// The program has this process's stdin, stdout, stderr, folder, process group, limits and signal
// dispositions; only the environment is given. A signal from the terminal, or one sent to the
// process group or the cgroup, has reached the program already; one that was sent to this process
// alone is passed on, unless it came from the program itself. A process beside the program, the
// witness, tells the two apart: nobody would send it anything alone. One thread.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::job {

// Make it before any thread: threads inherit what is blocked. While it lives, signals wait for
// Wait(), and this process may open as many files as the hard limit has.
class Launcher {
 public:
  // `bound`: the program ends where this process ends, whatever ends it.
  explicit Launcher(bool bound = false);
  ~Launcher();  // restores both, ends the witness; whatever is still running continues
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // kRun: it could not be started.
  Status Start(const std::vector<std::string>& command,
               const std::vector<std::string>& environment);
  pid_t pid() const { return pid_; }

  // Waits up to `timeout_ns` for a signal or the program's end. Its wait status once it has ended.
  std::optional<int> Wait(int64_t timeout_ns);
  // SIGINT has come to this process too: it was Ctrl-C.
  bool interrupted() const { return interrupted_; }

 private:
  void PassOn(const siginfo_t& signal);
  void StartWitness();
  void EndWitness();
  bool WitnessHas(int signal) const;
  [[noreturn]] void BecomeProgram(char* const* arguments, char* const* environment, int failed);

  const bool bound_;
  sigset_t before_;
  sigset_t waited_for_;
  rlimit files_before_{};
  pid_t pid_ = -1;
  pid_t witness_ = -1;
  bool interrupted_ = false;
};

// What a shell would report: the exit code, or 128 + N after signal N.
int ExitCodeOf(int wait_status);

}  // namespace stallscope::job
