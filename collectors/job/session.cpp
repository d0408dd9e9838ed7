#include "collectors/job/session.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

namespace stallscope::job {
namespace {

namespace fs = std::filesystem;

Error SystemFault(const std::string& what, const std::string& where) {
  return {ErrorKind::kRun, what + ": " + std::strerror(errno), where, ""};
}

bool HasRoom(const std::string& folder, uint64_t bytes) {
  struct statvfs about {};
  return statvfs(folder.c_str(), &about) == 0 &&
         uint64_t{about.f_bavail} * uint64_t{about.f_frsize} >= bytes &&
         access(folder.c_str(), W_OK | X_OK) == 0;
}

Status WriteSessionFile(const std::string& path, std::string_view content) {
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
  if (fd < 0) return SystemFault("cannot write", path);
  const ssize_t written = write(fd, content.data(), content.size());
  const bool whole = written == static_cast<ssize_t>(content.size());
  if (!whole && written >= 0) errno = ENOSPC;
  const Status done = whole ? Status() : SystemFault("cannot write", path);
  close(fd);
  return done;
}

// Renamed first, so that writers do not put new files into what is being removed.
void RemoveSession(const std::string& path) {
  std::error_code ignored;
  const std::string gone = path + ".gone";
  fs::rename(path, gone, ignored);
  fs::remove_all(ignored ? path : gone, ignored);
}

Result<ScratchFolder> MakeFolder(const SessionOptions& options) {
  if (HasRoom(options.memory, options.least_free_bytes)) {
    auto folder = ScratchFolder::MakeIn(options.memory);
    if (folder.ok()) return folder;
  }
  return ScratchFolder::Make();
}

// The helper: outlives what kills a process group, holds nothing of the caller's open, and waits
// until nobody has the other end of the pipe.
[[noreturn]] void RunRemover(int alive, const std::string& path) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "sst-remover");
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  constexpr int kKept = 3;
  dup2(alive, kKept);
  close_range(kKept + 1, ~0U, 0);
  [[maybe_unused]] const int at_root = chdir("/");
  char byte;
  while (read(kKept, &byte, 1) < 0 && errno == EINTR) {
  }
  RemoveSession(path);
  _exit(0);
}

}  // namespace

Result<Session> Session::Make(const SessionOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder folder, MakeFolder(options));
  Session session(std::move(folder));
  STALLSCOPE_RETURN_IF_ERROR(session.Fill(options));
  return session;
}

Session::Session(Session&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      alive_(std::exchange(other.alive_, -1)),
      remover_(std::exchange(other.remover_, -1)) {}

Session::~Session() {
  if (fd_ >= 0) {
    RemoveSession(path());
    close(fd_);
  }
  if (alive_ >= 0) close(alive_);
  if (remover_ > 0) waitpid(remover_, nullptr, 0);
}

Status Session::Fill(const SessionOptions& options) {
  fd_ = open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) return SystemFault("cannot open the session's folder", path());
  STALLSCOPE_RETURN_IF_ERROR(StartRemover());
  STALLSCOPE_RETURN_IF_ERROR(WriteSessionFile(path() + "/settings.json", options.settings_json));
  for (const ShimFile& file : ShimFiles()) {
    STALLSCOPE_RETURN_IF_ERROR(WriteSessionFile(shim() + "/" + file.path, file.content));
  }
  return {};
}

Status Session::StartRemover() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemFault("cannot create a pipe", "");
  remover_ = fork();
  if (remover_ == 0) {
    close(ends[1]);
    RunRemover(ends[0], path());
  }
  close(ends[0]);
  alive_ = ends[1];
  if (remover_ < 0) return SystemFault("cannot start a process", "");
  return {};
}

}  // namespace stallscope::job
