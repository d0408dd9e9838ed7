#include "analyzer/importers/foreign/unpacked_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace stallscope::importers {
namespace {

Error NoRoom(const ByteSource& source) {
  return Error{
      ErrorKind::kInput,
      std::string("this packed file cannot be unpacked in memory: ") + std::strerror(errno),
      source.path(), "unpack it first"};
}

}  // namespace

Result<UnpackedFile> UnpackedFile::Make(ByteSource& source, uint64_t limit) {
  const int fd = memfd_create("stallscope", MFD_CLOEXEC);
  if (fd < 0) return NoRoom(source);
  UnpackedFile file(fd);
  uint64_t size = 0;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string_view block, source.Next());
    if (block.empty()) return file;
    size += block.size();
    source.allowance().Charge(block.size());
    STALLSCOPE_RETURN_IF_ERROR(source.CheckAllowance());
    if (size > limit) {
      return Error{ErrorKind::kInput,
                   "this packed file is too large to be unpacked in memory: more than " +
                       std::to_string(limit >> 20) + " MiB",
                   source.path(), "unpack it first"};
    }
    while (!block.empty()) {
      const ssize_t wrote = write(fd, block.data(), block.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return NoRoom(source);
      block.remove_prefix(static_cast<size_t>(wrote));
    }
  }
}

UnpackedFile::UnpackedFile(UnpackedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
UnpackedFile::~UnpackedFile() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace stallscope::importers
