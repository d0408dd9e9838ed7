#include "analyzer/base/folders.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace stallscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "stallscope-";
constexpr std::string_view kHiddenPrefix = ".stallscope-";
constexpr const char* kLockFile = "/.scratch";
// The lock file's name where the folder holds what must not be lost.
constexpr const char* kGuardFile = "/.guarded";
// Distinguishes our folders from others with similar names.
constexpr std::string_view kPreamble = "stallscope scratch 1\n";

fs::path TemporaryFolder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

bool Lock(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

// Ours and abandoned. Holds its lock as long as `fd` is open, so that only one of two processes
// takes it.
bool IsLeftOver(const fs::path& folder, const char* lock_file, int& fd) {
  struct stat about {};
  if (lstat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) {
    return false;
  }
  fd = open((folder.string() + lock_file).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  char first[kPreamble.size()];
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         pread(fd, first, sizeof first, 0) == static_cast<ssize_t>(sizeof first) &&
         std::string_view(first, sizeof first) == kPreamble && Lock(fd);
}

std::vector<fs::path> FoldersIn(const fs::path& within, std::string_view prefix) {
  std::error_code failed;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(within, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
  }
  return found;
}

void RemoveLeftOvers(const fs::path& within, std::string_view prefix) {
  for (const fs::path& folder : FoldersIn(within, prefix)) {
    std::error_code ignored;
    int fd = -1;
    if (IsLeftOver(folder, kLockFile, fd)) fs::remove_all(folder, ignored);
    if (fd >= 0) close(fd);
  }
}

// The lock file gets its name only once it is locked: a folder with a free lock file is left over,
// not just being created.
int MakeLock(const std::string& folder) {
  const std::string name = folder + kLockFile;
  const std::string early = name + ".new";
  const int fd = open(early.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return -1;
  if (write(fd, kPreamble.data(), kPreamble.size()) == static_cast<ssize_t>(kPreamble.size())) {
    Lock(fd);
    if (rename(early.c_str(), name.c_str()) == 0) return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// What follows the preamble; "" if it cannot be read.
std::string NoteOf(int fd) {
  std::string note(PATH_MAX, '\0');
  const ssize_t got = pread(fd, note.data(), note.size(), kPreamble.size());
  note.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return note;
}

// Creates it if missing; never accepts one created by another user.
bool IsOwnFolder(const std::string& folder) {
  struct stat about {};
  mkdir(folder.c_str(), S_IRWXU);
  return lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == geteuid() && (about.st_mode & 077) == 0;
}

std::string HomeFolder() {
  if (const char* const home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  struct passwd entry {};
  struct passwd* found = nullptr;
  std::vector<char> room(16'384);
  if (getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr) {
    return "";
  }
  return found->pw_dir;
}

}  // namespace

Result<ScratchFolder> ScratchFolder::MakeNamed(const std::string& start, const char* hint) {
  std::string path = start + "XXXXXX";
  const auto failed = [&] {
    return Error{ErrorKind::kRun,
                 std::string("cannot create a scratch folder: ") + std::strerror(errno), path,
                 hint};
  };
  if (mkdtemp(path.data()) == nullptr) return failed();
  ScratchFolder folder(path);
  folder.lock_ = MakeLock(path);
  if (folder.lock_ < 0) return failed();
  return folder;
}

Result<ScratchFolder> ScratchFolder::Make() {
  const fs::path within = TemporaryFolder();
  RemoveLeftOvers(within, kPrefix);
  return MakeNamed(within / kPrefix, "set TMPDIR to a folder that can be written");
}

Result<ScratchFolder> ScratchFolder::MakeIn(const std::string& within) {
  RemoveLeftOversIn(within);
  return MakeNamed(fs::path(within) / kHiddenPrefix,
                   "check the folder's permissions and the free space");
}

void ScratchFolder::RemoveLeftOversIn(const std::string& within) {
  RemoveLeftOvers(within, kHiddenPrefix);
}

void ScratchFolder::Keep() {
  if (!path_.empty() && !guarded_) unlink((path_ + kLockFile).c_str());
  path_.clear();
}

// The note is there before the file's new name says so; the lock goes with the file.
bool ScratchFolder::Guard(std::string_view note) {
  const auto size = static_cast<ssize_t>(note.size());
  if (pwrite(lock_, note.data(), note.size(), kPreamble.size()) != size ||
      ftruncate(lock_, static_cast<off_t>(kPreamble.size()) + size) != 0) {
    return false;
  }
  if (guarded_) return true;
  guarded_ = rename((path_ + kLockFile).c_str(), (path_ + kGuardFile).c_str()) == 0;
  return guarded_;
}

std::vector<ScratchFolder> ScratchFolder::AdoptIn(const std::string& within,
                                                  std::string_view note) {
  std::vector<ScratchFolder> adopted;
  for (const fs::path& folder : FoldersIn(within, kHiddenPrefix)) {
    int fd = -1;
    if (IsLeftOver(folder, kGuardFile, fd) && NoteOf(fd) == note) {
      ScratchFolder& own = adopted.emplace_back(ScratchFolder(folder.string()));
      own.lock_ = fd;
      own.guarded_ = true;
    } else if (fd >= 0) {
      close(fd);
    }
  }
  return adopted;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())),
      lock_(std::exchange(other.lock_, -1)),
      guarded_(other.guarded_) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

Result<std::string> StateFolder() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  // By the specification, a path that is not absolute is ignored.
  const bool named = state != nullptr && state[0] == '/';
  std::string folder = named ? state : HomeFolder() + "/.local/state";
  std::error_code failed;
  fs::create_directories(folder, failed);
  folder += "/stallscope";
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    const int error = errno;
    // A user without a home, as in a container: the state lasts as long as the machine.
    const std::string kept_here = "/tmp/stallscope-" + std::to_string(geteuid());
    if (!named && IsOwnFolder(kept_here)) return kept_here;
    return Error{ErrorKind::kRun,
                 std::string("cannot create the state folder: ") + std::strerror(error), folder,
                 "set XDG_STATE_HOME to a folder that can be written"};
  }
  return folder;
}

}  // namespace stallscope
