#include "replay/rerun/page_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analyzer/base/file.h"

namespace stallscope::replay {
namespace {

Status ReadThrough(const std::string& path) {
  constexpr size_t kPiece = size_t{1} << 20;
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::vector<char> piece(kPiece);
  for (uint64_t at = 0;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(at, piece.data(), piece.size()));
    if (got < piece.size()) return {};
    at += got;
  }
}

Status Forget(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // Pages that were never written back stay, so they are written first.
  int failed = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (fdatasync(fd) != 0 && errno != EINVAL && errno != EROFS) failed = errno;
    if (failed == 0) failed = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
  if (failed == 0) return {};
  return Error{ErrorKind::kRun,
               std::string("cannot evict the file from the page cache: ") + strerror(failed), path,
               "use --page-cache as-is"};
}

}  // namespace

Status PreparePageCache(const std::vector<std::string>& files, PageCache want) {
  if (want == PageCache::kAsItIs) return {};
  for (const std::string& path : files) {
    struct stat about {};
    // What the run itself will not read, and where opening may take forever.
    if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) continue;
    STALLSCOPE_RETURN_IF_ERROR(want == PageCache::kWarm ? ReadThrough(path) : Forget(path));
  }
  return {};
}

}  // namespace stallscope::replay
