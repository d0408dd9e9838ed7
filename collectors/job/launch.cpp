#include "collectors/job/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analyzer/base/escape.h"
#include "analyzer/base/units.h"
#include "collectors/job/job_sampler.h"
#include "collectors/system/proc_file.h"

namespace stallscope::job {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr rlim_t kEnoughFiles = 65'536;
// Whoever signals the processes of a cgroup one by one is done with all of them by then.
constexpr useconds_t kOneByOneUs = 20'000;

std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool IsDescendant(uint64_t pid, pid_t ancestor) {
  constexpr int kDeepest = 256;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    if (pid == static_cast<uint64_t>(ancestor)) return true;
    const auto process = ReadProcess(pid);
    if (!process) return false;
    pid = process->parent;
  }
  return false;
}

}  // namespace

Launcher::Launcher(bool bound) : bound_(bound) {
  sigemptyset(&waited_for_);
  sigaddset(&waited_for_, SIGCHLD);
  for (const int signal : kPassedOn) {
    struct sigaction now {};
    // Whoever ignores one (nohup) has asked for that.
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&waited_for_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
  if (getrlimit(RLIMIT_NOFILE, &files_before_) == 0) {
    rlimit more = files_before_;
    more.rlim_cur = std::max(more.rlim_cur, std::min(more.rlim_max, kEnoughFiles));
    setrlimit(RLIMIT_NOFILE, &more);
  }
}

Launcher::~Launcher() {
  EndWitness();
  if (files_before_.rlim_cur != 0) setrlimit(RLIMIT_NOFILE, &files_before_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// In the child. Nothing here may allocate: other threads' locks are taken for ever.
void Launcher::BecomeProgram(char* const* arguments, char* const* environment, int failed) {
  if (bound_) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (files_before_.rlim_cur != 0) setrlimit(RLIMIT_NOFILE, &files_before_);
  // This program ignores them for itself.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failed, &error, sizeof error);
  _exit(127);
}

Status Launcher::Start(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = PointersTo(command);
  const std::vector<char*> variables = PointersTo(environment);
  int failed[2];
  if (pipe2(failed, O_CLOEXEC) != 0) {
    return Error{ErrorKind::kRun, std::strerror(errno), "cannot create a pipe", ""};
  }
  StartWitness();
  pid_ = fork();
  if (pid_ == 0) BecomeProgram(arguments.data(), variables.data(), failed[1]);
  int error = pid_ < 0 ? errno : 0;
  close(failed[1]);
  // Closed by the exec; else it has the reason.
  if (pid_ > 0 && read(failed[0], &error, sizeof error) == sizeof error) {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  close(failed[0]);
  if (pid_ > 0) return {};
  const char* hint = error == ENOENT   ? "check the command after --"
                     : error == EACCES ? "make it executable, or put its interpreter in front: -- "
                                         "python train.py"
                                       : "";
  return Error{ErrorKind::kRun, std::string("cannot be started: ") + std::strerror(error),
               Printable(command[0]), hint};
}

// It has this process's group and cgroup, and blocks every signal: what it was sent stays pending.
// A signal to the group reaches its youngest member first, so the witness has it before this
// process.
void Launcher::StartWitness() {
  const pid_t parent = getpid();
  witness_ = fork();
  if (witness_ != 0) return;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  close_range(0, ~0U, 0);
  for (;;) pause();
}

void Launcher::EndWitness() {
  if (witness_ <= 0) return;
  kill(witness_, SIGKILL);
  waitpid(witness_, nullptr, 0);
  witness_ = -1;
}

bool Launcher::WitnessHas(int signal) const {
  constexpr std::string_view kPending = "ShdPnd:";
  const auto status = system::ReadOnce("/proc/" + std::to_string(witness_) + "/status");
  const size_t at = status ? status->find(kPending) : std::string::npos;
  if (at == std::string::npos) return false;
  const uint64_t pending = std::strtoull(status->c_str() + at + kPending.size(), nullptr, 16);
  return (pending >> (signal - 1) & 1) != 0;
}

void Launcher::PassOn(const siginfo_t& signal) {
  const bool sent =
      signal.si_code == SI_USER || signal.si_code == SI_QUEUE || signal.si_code == SI_TKILL;
  if (!sent || IsDescendant(static_cast<uint64_t>(signal.si_pid), pid_)) return;
  if (!WitnessHas(signal.si_signo)) usleep(kOneByOneUs);
  if (!WitnessHas(signal.si_signo)) {
    kill(pid_, signal.si_signo);
    return;
  }
  EndWitness();
  StartWitness();
}

std::optional<int> Launcher::Wait(int64_t timeout_ns) {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) return status;
  const timespec timeout{timeout_ns / kNsPerSecond, timeout_ns % kNsPerSecond};
  siginfo_t signal{};
  const int number = sigtimedwait(&waited_for_, &signal, &timeout);
  if (number > 0 && number != SIGCHLD) {
    interrupted_ = interrupted_ || number == SIGINT;
    PassOn(signal);
  }
  if (waitpid(pid_, &status, WNOHANG) == pid_) return status;
  return std::nullopt;
}

int ExitCodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace stallscope::job
