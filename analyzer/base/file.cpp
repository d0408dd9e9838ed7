#include "analyzer/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace stallscope {
namespace {

std::string HintFor(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of the file and its folder";
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f), or write to another file system";
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EISDIR:
      return "name a file, not a folder";
    case EIO:
      return "the disk reports an error; check it";
    default:
      return "";
  }
}

Error SystemError(ErrorKind kind, const std::string& path, const char* action, int error) {
  return Error{kind, std::string(action) + ": " + std::strerror(error), path, HintFor(error)};
}

}  // namespace

ssize_t FileOps::Pwrite(int fd, const void* data, size_t size, off_t offset) {
  return pwrite(fd, data, size, offset);
}
int FileOps::Fsync(int fd) { return fsync(fd); }
int FileOps::Rename(const char* from, const char* to) { return std::rename(from, to); }

FileOps& FileOps::Kernel() {
  static FileOps kernel;
  return kernel;
}

Result<AppendFile> AppendFile::Create(const std::string& path, FileOps& ops) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError(ErrorKind::kRun, path, "cannot create the file", errno);
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return AppendFile(fd, path, ops);
  // Two that write one file would leave neither's. Where the file system has no locks, nobody asks.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(fd);
    return Error{ErrorKind::kRun, "another run is writing this file", path,
                 "wait for it to end, or name another file"};
  }
  if (ftruncate(fd, 0) != 0) {
    const int error = errno;
    close(fd);
    return SystemError(ErrorKind::kRun, path, "cannot empty the file", error);
  }
  return AppendFile(fd, path, ops);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      torn_(other.torn_),
      path_(std::move(other.path_)),
      ops_(other.ops_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    size_ = other.size_;
    torn_ = other.torn_;
    path_ = std::move(other.path_);
    ops_ = other.ops_;
  }
  return *this;
}

AppendFile::~AppendFile() { Close(); }

// At once, not at the next Append: that one may be shorter than what the failed one left, and the
// process may not live to see it. Best effort: a reader skips a torn tail anyway.
void AppendFile::TakeBack() { torn_ = ftruncate(fd_, static_cast<off_t>(size_)) != 0; }

void AppendFile::Close() {
  if (fd_ < 0) return;
  if (torn_) TakeBack();
  close(fd_);
  fd_ = -1;
}

Status AppendFile::Append(std::string_view data) {
  if (torn_) TakeBack();
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t written =
        ops_->Pwrite(fd_, data.data() + done, data.size() - done, static_cast<off_t>(size_ + done));
    if (written < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      TakeBack();
      return SystemError(ErrorKind::kRun, path_, "cannot write", error);
    }
    if (written == 0) {
      TakeBack();
      return Error{ErrorKind::kRun, "cannot write: the disk took nothing", path_, HintFor(ENOSPC)};
    }
    done += static_cast<size_t>(written);
  }
  size_ += data.size();
  return {};
}

Status AppendFile::Sync() {
  if (ops_->Fsync(fd_) != 0) return SystemError(ErrorKind::kRun, path_, "cannot sync", errno);
  return {};
}

Result<InputFile> InputFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(ErrorKind::kInput, path, "cannot open the file", errno);
  struct stat about;
  if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    close(fd);
    return SystemError(ErrorKind::kInput, path, "cannot read", EISDIR);
  }
  return InputFile(fd, path);
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

Result<size_t> InputFile::ReadAt(uint64_t offset, void* into, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(into) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(ErrorKind::kInput, path_, "cannot read", errno);
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<uint64_t> InputFile::Size() const {
  struct stat about;
  if (fstat(fd_, &about) != 0) return SystemError(ErrorKind::kInput, path_, "cannot stat", errno);
  return static_cast<uint64_t>(about.st_size);
}

Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string content;
  char block[65536];
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(content.size(), block, sizeof block));
    if (got == 0) return content;
    if (content.size() + got > limit) {
      return Error{ErrorKind::kInput, "larger than " + std::to_string(limit) + " bytes", path,
                   "this is not a file of the expected kind"};
    }
    content.append(block, got);
  }
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, FileOps& ops) {
  std::string target = path;
  if (char* resolved = realpath(path.c_str(), nullptr); resolved != nullptr) {
    target = resolved;
    std::free(resolved);
  }
  auto file = AppendFile::Create(target + ".tmp." + std::to_string(getpid()), ops);
  if (!file.ok()) {
    Error error = std::move(file).error();
    error.where = path;
    return error;
  }
  return AtomicFile(std::move(target), std::move(file).value(), ops);
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) unlink(file_->path().c_str());
}

Status AtomicFile::Commit() {
  STALLSCOPE_RETURN_IF_ERROR(file_->Sync());
  if (ops_->Rename(file_->path().c_str(), path_.c_str()) != 0) {
    return SystemError(ErrorKind::kRun, path_, "cannot replace the file", errno);
  }
  file_.reset();
  return {};
}

Status WriteFileAtomically(const std::string& path, std::string_view content, FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, ops));
  STALLSCOPE_RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

}  // namespace stallscope
