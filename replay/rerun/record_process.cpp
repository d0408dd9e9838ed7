#include "replay/rerun/record_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/base/file.h"

namespace stallscope::replay {
namespace {

constexpr useconds_t kLookEveryUs = 50'000;
constexpr int kCannotStart = 127;

std::vector<char*> PointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: only what a signal handler might do. In a process group of its own, so
// that a Ctrl-C is the parent's to pass on; gone with the parent, so that a run that nobody waits
// for does not slow down the next one.
struct ChildWords {
  char* const* arguments;
  char* const* environment;
  const char* errors;
  const char* folder;  // null: as it is
};
[[noreturn]] void Become(const ChildWords& words, pid_t parent, const sigset_t& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);
  setpgid(0, 0);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open("/dev/null", O_WRONLY);
  const int err = open(words.errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in < 0 || out < 0 || err < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
      dup2(err, STDERR_FILENO) < 0) {
    _exit(kCannotStart);
  }
  for (const int fd : {in, out, err}) {
    if (fd > STDERR_FILENO) close(fd);
  }
  if (words.folder != nullptr && chdir(words.folder) != 0) _exit(kCannotStart);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  // Who is to outlive the terminal (nohup) takes the runs with it.
  if (std::signal(SIGHUP, SIG_DFL) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execve(words.arguments[0], words.arguments, words.environment);
  _exit(kCannotStart);
}

constexpr std::string_view kName = "stallscope: ";

// The last line that the child said.
std::string LastWords(const std::string& path) {
  const auto text = ReadWholeFile(path, size_t{1} << 20);
  if (!text.ok()) return "";
  std::string_view all = text.value();
  while (!all.empty() && all.back() == '\n') all.remove_suffix(1);
  const size_t line = all.rfind('\n');
  if (line != std::string_view::npos) all.remove_prefix(line + 1);
  return std::string(all);
}

Status Judge(int status, const RecordProcess& process) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said = LastWords(process.errors);
  const bool ours = said.starts_with(kName);
  if (ours) said.erase(0, kName.size());
  if (process.job && !ours && WIFEXITED(status) && WEXITSTATUS(status) != kCannotStart) {
    return Error{
        ErrorKind::kRun,
        "the job exited " + std::to_string(WEXITSTATUS(status)) + (said.empty() ? "" : ": " + said),
        "", WEXITSTATUS(status) == 128 + SIGKILL ? "it may have run out of memory" : ""};
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return Error{ErrorKind::kRun,
                 std::string("the run was killed by signal ") + std::to_string(signal) + " (" +
                     strsignal(signal) + ")",
                 "", signal == SIGKILL ? "it may have run out of memory" : ""};
  }
  if (WEXITSTATUS(status) == kCannotStart && said.empty()) {
    return Error{ErrorKind::kRun, "cannot start the program", process.command.front(), ""};
  }
  if (said.empty()) said = "the run exited with code " + std::to_string(WEXITSTATUS(status));
  switch (WEXITSTATUS(status)) {
    case static_cast<int>(ErrorKind::kUsage):
      return Error{ErrorKind::kUsage, std::move(said), "", ""};
    case static_cast<int>(ErrorKind::kInput):
      return Error{ErrorKind::kInput, std::move(said), "", ""};
    default:
      return Error{ErrorKind::kRun, std::move(said), "", ""};
  }
}

// To its end, as Run() says.
Result<bool> Await(pid_t child, const RecordProcess& process,
                   const std::function<bool()>& stop_requested,
                   const std::function<int64_t()>& now) {
  std::optional<int64_t> asked_ns;
  for (;;) {
    siginfo_t info{};
    const int looked = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && info.si_pid == child) {
      // Workers that a killed job left behind would slow down the next run. Until the child is
      // reaped, no other group has its number.
      kill(-child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      if (asked_ns.has_value()) return true;
      STALLSCOPE_RETURN_IF_ERROR(Judge(status, process));
      return false;
    }
    if (looked < 0 && errno != EINTR) {
      return Error{ErrorKind::kRun, std::string("the run is lost: ") + std::strerror(errno), "",
                   ""};
    }
    if (asked_ns.has_value()) {
      // Repeating it is harmless: until waitpid reaps the child, no one else has its pid.
      if (now() - *asked_ns > kPatienceNs) kill(-child, SIGKILL);
    } else if (stop_requested && stop_requested()) {
      asked_ns = now();
      kill(child, SIGTERM);
    }
    usleep(kLookEveryUs);
  }
}

}  // namespace

Result<bool> Run(const RecordProcess& process, const std::function<bool()>& stop_requested,
                 const std::function<int64_t()>& now) {
  std::vector<std::string> words = process.command;
  std::vector<std::string> variables;
  for (char* const* variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        !process.temporary.empty() && std::string_view(*variable).starts_with("TMPDIR=");
    if (!replaced) variables.emplace_back(*variable);
  }
  if (!process.temporary.empty()) variables.push_back("TMPDIR=" + process.temporary);
  const std::vector<char*> arguments = PointersTo(words);
  const std::vector<char*> environment = PointersTo(variables);
  const ChildWords child_words{arguments.data(), environment.data(), process.errors.c_str(),
                               process.folder.empty() ? nullptr : process.folder.c_str()};
  const pid_t parent = getpid();
  // A stop that came before the child is itself would end in the parent's handlers, and be lost.
  sigset_t stops;
  sigset_t before;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &stops, &before);
  const pid_t child = fork();
  if (child == 0) Become(child_words, parent, before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    return Error{ErrorKind::kRun,
                 std::string("cannot start a process for the run: ") + std::strerror(errno), "",
                 errno == EAGAIN ? "raise the process limit (ulimit -u)" : ""};
  }
  return Await(child, process, stop_requested, now);
}

}  // namespace stallscope::replay
