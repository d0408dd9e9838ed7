#include "analyzer/base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "analyzer/base/readable.h"
#include "analyzer/base/splitmix.h"

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

Error SystemError(ErrorKind kind, const std::string& path, const std::string& action, int error) {
  return Error{kind, action + ": " + std::strerror(error), path, HintFor(error)};
}

// Identifies a file whatever its name: a hash of its device, its number and its birth time, because
// the number of a deleted file is reused. Among ten million files, two share a hash once in 370,000
// runs.
using FileId = uint64_t;

// Of the open file, or of the one at `path` below it.
FileId IdOf(int fd, const char* path = "") {
  struct statx about {};
  const int flags = *path == '\0' ? AT_EMPTY_PATH : 0;
  if (statx(fd, path, flags, STATX_INO | STATX_BTIME, &about) != 0) return 0;
  uint64_t hash = 0;
  for (const uint64_t part :
       {uint64_t{about.stx_dev_major} << 32 | about.stx_dev_minor, uint64_t{about.stx_ino},
        static_cast<uint64_t>(about.stx_btime.tv_sec), uint64_t{about.stx_btime.tv_nsec}}) {
    hash = SplitMix(hash ^ part);
  }
  return hash;
}

// What this process has read and written. Global, because a command reads and writes in many rooms,
// and an input that a room forgot to pass on would be overwritten.
class KnownFiles {
 public:
  void Read(FileId file) {
    const std::lock_guard lock(mutex_);
    if (!written_.contains(file)) read_.insert(file);
  }
  void Written(FileId file) {
    const std::lock_guard lock(mutex_);
    written_.insert(file);
  }
  void Forget(FileId file) {
    const std::lock_guard lock(mutex_);
    read_.erase(file);
  }
  bool WasRead(FileId file) {
    const std::lock_guard lock(mutex_);
    return read_.contains(file);
  }
  static KnownFiles& OfThisProcess() {
    static KnownFiles files;
    return files;
  }

 private:
  std::mutex mutex_;
  // An image folder may have millions of files.
  std::unordered_set<FileId> read_;
  std::unordered_set<FileId> written_;
};

// Of the open file, not of the process: two writers in one process exclude each other too.
bool IsLocked(int fd) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  // Without locks in the file system, there is nothing to check.
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What currently has the name that a file is to get.
struct Target {
  std::string path;  // after following links
  bool exists = false;
  struct stat about {};
};

Result<Target> FindTarget(const std::string& path, Over over) {
  Target target;
  target.path = path;
  if (lstat(path.c_str(), &target.about) != 0) {
    if (errno == ENOENT && !path.empty() && path.back() != '/') return target;
    return SystemError(ErrorKind::kRun, path, "cannot create the file",
                       path.empty() ? ENOENT : errno);
  }
  target.exists = true;
  if (S_ISLNK(target.about.st_mode)) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (real == nullptr || stat(real.get(), &target.about) != 0) {
      return Error{ErrorKind::kUsage, "the link is broken", path,
                   "remove the link, or name another file"};
    }
    target.path = real.get();
  }
  if (S_ISDIR(target.about.st_mode)) {
    return SystemError(ErrorKind::kRun, path, "cannot create the file", EISDIR);
  }
  if (!S_ISREG(target.about.st_mode)) {
    return Error{ErrorKind::kRun, "not a regular file; will not replace it", path,
                 "name a regular file, or an unused name"};
  }
  // By the user's name for it, and for writing: so that the kernel refuses a link planted by
  // another user, and a file that this user may not change.
  const FileId before = IdOf(AT_FDCWD, target.path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return SystemError(ErrorKind::kRun, path, "cannot replace the file", errno);
  // Overlayfs copies a file that is opened for writing; the copy has another birth time.
  KnownFiles& known = KnownFiles::OfThisProcess();
  const bool was_read = known.WasRead(before) || known.WasRead(IdOf(fd));
  const bool locked = IsLocked(fd);
  close(fd);
  if (over == Over::kNoInput && was_read) {
    return Error{ErrorKind::kUsage, "the output is also an input of this command", path,
                 "name another file for the output"};
  }
  if (locked) {
    return Error{ErrorKind::kRun, "another run is writing this file", path,
                 "wait for it to end, or name another file"};
  }
  return target;
}

// Waits for data in the pipe. Unlike read, poll returns on any signal whatever its handler's flags;
// and a pipe without a writer so far does not look like one at its end.
Status AwaitPipe(int fd, const std::string& path) {
  struct pollfd wait {};
  wait.fd = fd;
  wait.events = POLLIN;
  if (poll(&wait, 1, -1) >= 0) return {};
  if (errno == EINTR) {
    return Error{ErrorKind::kRun, "interrupted while waiting for the pipe", path, ""};
  }
  return SystemError(ErrorKind::kInput, path, "cannot read", errno);
}

// A pipe cannot be read by offset, so its content goes into an unnamed file.
Result<int> CopyOfPipe(int pipe, const std::string& path) {
  const char* const folder = std::getenv("TMPDIR");
  const std::string where = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  int copy = open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (copy < 0) {
    const std::string name = where + "/stallscope-pipe-" + RandomName(8);
    copy =
        open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (copy >= 0) unlink(name.c_str());
  }
  if (copy < 0) {
    Error error = SystemError(ErrorKind::kRun, where, "cannot copy the pipe " + path, errno);
    error.hint = "set TMPDIR to a folder with free space, or pass a file";
    return error;
  }
  char block[65536];
  for (;;) {
    Status waited = AwaitPipe(pipe, path);
    const ssize_t got = waited.ok() ? read(pipe, block, sizeof block) : -1;
    if (got == 0) return copy;
    if (got < 0 && waited.ok() && (errno == EAGAIN || errno == EINTR)) continue;
    if (got > 0 && write(copy, block, static_cast<size_t>(got)) == got) continue;
    if (waited.ok()) {
      waited = SystemError(ErrorKind::kRun, got < 0 ? path : where, "cannot copy the pipe", errno);
    }
    close(copy);
    return std::move(waited).error();
  }
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

std::string RandomName(size_t bytes) {
  std::string name;
  while (bytes > 0) {
    unsigned char random[64];
    const ssize_t got = getrandom(random, bytes < sizeof random ? bytes : sizeof random, 0);
    if (got <= 0) continue;  // interrupted
    for (ssize_t i = 0; i < got; ++i) {
      name += "0123456789abcdef"[random[i] >> 4];
      name += "0123456789abcdef"[random[i] & 15];
    }
    bytes -= static_cast<size_t>(got);
  }
  return name;
}

Result<OutputFile> OutputFile::Create(const std::string& path, Over over, FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(const Target target, FindTarget(path, over));
  OutputFile file(path, over, ops);
  STALLSCOPE_RETURN_IF_ERROR(
      file.Open(FolderOf(target.path), target.exists ? &target.about : nullptr));
  return file;
}

// An unnamed file if the file system supports that: a killed process leaves nothing.
Status OutputFile::Open(const std::string& folder, const struct stat* replaced) {
  const mode_t mode = replaced != nullptr ? S_IRUSR | S_IWUSR : 0666;
  if (access("/proc/self/fd", X_OK) == 0) {
    fd_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  }
  if (fd_ < 0) {
    temporary_ = folder + "/.stallscope-" + RandomName(8);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  }
  if (fd_ < 0) {
    temporary_.clear();
    return SystemError(ErrorKind::kRun, path_, "cannot create the file", errno);
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  fcntl(fd_, F_OFD_SETLK, &lock);
  struct stat about {};
  if (fstat(fd_, &about) != 0) {
    return SystemError(ErrorKind::kRun, path_, "cannot create the file", errno);
  }
  KnownFiles::OfThisProcess().Written(IdOf(fd_));
  if (replaced == nullptr) return {};
  const bool other_owner = about.st_uid != replaced->st_uid || about.st_gid != replaced->st_gid;
  if ((other_owner && fchown(fd_, replaced->st_uid, replaced->st_gid) != 0) ||
      fchmod(fd_, replaced->st_mode & 07777) != 0) {
    return Error{ErrorKind::kRun,
                 std::string("cannot keep the file's owner and mode: ") + std::strerror(errno),
                 path_, "remove the file first, or name another one"};
  }
  return {};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      torn_(other.torn_),
      published_(other.published_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, std::string())),
      over_(other.over_),
      ops_(other.ops_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    size_ = other.size_;
    torn_ = other.torn_;
    published_ = other.published_;
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, std::string());
    over_ = other.over_;
    ops_ = other.ops_;
  }
  return *this;
}

OutputFile::~OutputFile() { Close(); }

// At once, not at the next Append: that one may be shorter than what the failed one left, and the
// process may not live to see it. Best effort: a reader skips a torn tail anyway.
void OutputFile::TakeBack() { torn_ = ftruncate(fd_, static_cast<off_t>(size_)) != 0; }

void OutputFile::Close() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
  if (fd_ < 0) return;
  if (torn_) TakeBack();
  close(fd_);
  fd_ = -1;
}

Status OutputFile::Append(std::string_view data) {
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
      return Error{ErrorKind::kRun, "cannot write: write returned 0 bytes", path_, HintFor(ENOSPC)};
    }
    done += static_cast<size_t>(written);
  }
  size_ += data.size();
  return {};
}

Status OutputFile::Sync() {
  if (ops_->Fsync(fd_) != 0) return SystemError(ErrorKind::kRun, path_, "cannot sync", errno);
  return {};
}

// First a name of its own: only a rename replaces a file without a gap.
Status OutputFile::NameIt(const std::string& target) {
  if (temporary_.empty()) {
    const std::string name = FolderOf(target) + "/.stallscope-" + RandomName(8);
    const std::string itself = "/proc/self/fd/" + std::to_string(fd_);
    if (linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return SystemError(ErrorKind::kRun, path_, "cannot create the file", errno);
    }
    temporary_ = name;
  }
  if (ops_->Rename(temporary_.c_str(), target.c_str()) != 0) {
    return SystemError(ErrorKind::kRun, path_, "cannot replace the file", errno);
  }
  temporary_.clear();
  return {};
}

Status OutputFile::Publish() {
  if (published_) return {};
  STALLSCOPE_ASSIGN_OR_RETURN(const Target target, FindTarget(path_, over_));
  STALLSCOPE_RETURN_IF_ERROR(NameIt(target.path));
  published_ = true;
  return {};
}

Status OutputFile::Commit() {
  STALLSCOPE_RETURN_IF_ERROR(Sync());
  return Publish();
}

Status WriteFileAtomically(const std::string& path, std::string_view content, Over over,
                           FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, over, ops));
  STALLSCOPE_RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

bool HasWriter(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  const bool locked = IsLocked(fd);
  close(fd);
  return locked;
}

void NoteInput(const std::string& path) {
  KnownFiles::OfThisProcess().Read(IdOf(AT_FDCWD, path.c_str()));
}

void ForgetInput(const std::string& path) {
  KnownFiles::OfThisProcess().Forget(IdOf(AT_FDCWD, path.c_str()));
}

Result<InputFile> InputFile::Open(const std::string& path, Use use) {
  // Non-blocking: a pipe without a writer must not swallow Ctrl-C.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return SystemError(ErrorKind::kInput, path, "cannot open the file", errno);
  InputFile file(fd, path, false);
  struct stat about {};
  if (fstat(fd, &about) != 0) {
    return SystemError(ErrorKind::kInput, path, "cannot open the file", errno);
  }
  if (S_ISREG(about.st_mode)) {
    if (use == Use::kInput) KnownFiles::OfThisProcess().Read(IdOf(fd));
    return file;
  }
  if (const char* const kind = WhyNotReadable(about.st_mode)) {
    return Error{ErrorKind::kInput, std::string("cannot read ") + kind, path,
                 "name a regular file or a pipe"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const int copy, CopyOfPipe(fd, path));
  return Copy(copy, path);
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), copied_(other.copied_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
    copied_ = other.copied_;
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

}  // namespace stallscope
