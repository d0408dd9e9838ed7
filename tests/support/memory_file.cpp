#include "tests/support/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace stallscope::test {
namespace {

void Require(bool done, const char* what) {
  if (done) return;
  std::perror(what);
  std::abort();
}

}  // namespace

MemoryFile::MemoryFile(std::string_view content) : fd_(memfd_create("trace", MFD_CLOEXEC)) {
  Require(fd_ >= 0, "memfd_create");
  path_ = "/proc/self/fd/" + std::to_string(fd_);
  Put(0, content);
}

MemoryFile::~MemoryFile() { close(fd_); }

void MemoryFile::Set(std::string_view content) {
  Put(0, content);
  Truncate(content.size());
}

void MemoryFile::Put(uint64_t offset, std::string_view bytes) {
  const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  Require(written == static_cast<ssize_t>(bytes.size()), "pwrite");
}

void MemoryFile::Truncate(uint64_t size) {
  Require(ftruncate(fd_, static_cast<off_t>(size)) == 0, "ftruncate");
}

}  // namespace stallscope::test
