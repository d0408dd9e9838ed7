#include "gui/app/file_dialog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "analyzer/base/program.h"

namespace stallscope::app {
namespace {

std::vector<std::string> Zenity(const std::string& program, DialogKind kind,
                                const std::string& suggested) {
  std::vector<std::string> command = {program, "--file-selection"};
  if (kind == DialogKind::kSave) {
    command.insert(command.end(), {"--save", "--confirm-overwrite", "--title=Save"});
  } else {
    command.emplace_back("--title=Open");
  }
  if (!suggested.empty()) command.push_back("--filename=" + suggested);
  return command;
}

std::vector<std::string> Kdialog(const std::string& program, DialogKind kind,
                                 const std::string& suggested) {
  return {program, kind == DialogKind::kSave ? "--getsavefilename" : "--getopenfilename",
          suggested.empty() ? "." : suggested};
}

}  // namespace

std::vector<std::string> DialogCommand(DialogKind kind, const std::string& suggested,
                                       const std::string& path, const std::string& desktop) {
  const std::string zenity = FindProgram("zenity", path);
  const std::string kdialog = FindProgram("kdialog", path);
  const bool kde = desktop.find("KDE") != std::string::npos;
  if (!kdialog.empty() && (kde || zenity.empty())) return Kdialog(kdialog, kind, suggested);
  if (!zenity.empty()) return Zenity(zenity, kind, suggested);
  return {};
}

FileDialog::~FileDialog() { End(); }

void FileDialog::End() {
  if (pipe_ >= 0) close(pipe_);
  pipe_ = -1;
  if (child_ > 0) {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  child_ = -1;
  said_.clear();
}

bool FileDialog::Start(const std::vector<std::string>& command) {
  End();
  if (command.empty()) return false;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  // Made before the fork: behind it only calls that are safe in a signal handler may follow, as
  // other threads may hold the allocator's lock.
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A signal for the child that comes before it is another program must not be taken by this one's
  // handlers.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) std::signal(signal, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    dup2(ends[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return false;
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  child_ = child;
  pipe_ = ends[0];
  return true;
}

std::optional<std::string> FileDialog::Poll() {
  if (child_ <= 0) return std::nullopt;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = read(pipe_, buffer.data(), buffer.size())) > 0) {
    said_.append(buffer.data(), static_cast<size_t>(got));
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  // Its stdout is closed: it has exited, or is about to.
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  std::string path = std::move(said_);
  End();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "";
  while (!path.empty() && (path.back() == '\n' || path.back() == '\r')) path.pop_back();
  return path;
}

}  // namespace stallscope::app
