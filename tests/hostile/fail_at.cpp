// Makes a program's N-th file operation fail, by LD_PRELOAD.
//
//   STALLSCOPE_FAIL_AT=N     which one, from 1; 0 or unset: none
//   STALLSCOPE_FAIL_WITH=E   the errno; default ENOSPC
//   STALLSCOPE_FAIL_COUNT=F  a file to which the process appends the count when it ends
//
// Counts the calls that open, write, sync, name and remove files, per process. Reads do not count:
// damaged input has tests of its own.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> operations{0};

long Number(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atol(text) : otherwise;
}

// Whether this one fails; then errno is set.
bool Fails() {
  static const long at = Number("STALLSCOPE_FAIL_AT", 0);
  static const int with = static_cast<int>(Number("STALLSCOPE_FAIL_WITH", ENOSPC));
  if (operations.fetch_add(1) + 1 != at) return false;
  errno = with;
  return true;
}

// Not a thread's wake-up call: an eventfd has no disk that could be full.
bool IsFile(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISCHR(about.st_mode));
}

template <class Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Report {
  ~Report() {
    const char* const path = std::getenv("STALLSCOPE_FAIL_COUNT");
    if (path == nullptr) return;
    char line[32];
    const int size = std::snprintf(line, sizeof line, "%ld\n", operations.load());
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
  }
} report;

int OpenWith(const char* name, const char* path, int flags, mode_t mode) {
  if (Fails()) return -1;
  return Real<int(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t ModeOf(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenWith("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenWith("open64", path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t size) {
  if (IsFile(fd) && Fails()) return -1;
  return Real<ssize_t(int, const void*, size_t)>("write")(fd, data, size);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (Fails()) return -1;
  return Real<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  if (Fails()) return -1;
  return Real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(fd, data, size, offset);
}

int fsync(int fd) {
  if (Fails()) return -1;
  return Real<int(int)>("fsync")(fd);
}

int rename(const char* from, const char* to) {
  if (Fails()) return -1;
  return Real<int(const char*, const char*)>("rename")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (Fails()) return -1;
  return Real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder,
                                                                      to, flags);
}

int unlink(const char* path) {
  if (Fails()) return -1;
  return Real<int(const char*)>("unlink")(path);
}

}  // extern "C"
