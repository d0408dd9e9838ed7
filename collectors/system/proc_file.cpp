#include "collectors/system/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "analyzer/base/file.h"

namespace stallscope::system {

ProcFile::ProcFile(std::string path, size_t capacity)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) {
    error_ = errno;
  } else {
    text_.resize(capacity);
  }
}

ProcFile::~ProcFile() {
  if (fd_ >= 0) close(fd_);
}

ProcFile::ProcFile(ProcFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      error_(other.error_),
      damaged_(other.damaged_),
      text_(std::move(other.text_)) {}

ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    path_ = std::move(other.path_);
    fd_ = std::exchange(other.fd_, -1);
    error_ = other.error_;
    damaged_ = other.damaged_;
    text_ = std::move(other.text_);
  }
  return *this;
}

std::optional<std::string_view> ProcFile::Read() {
  if (fd_ < 0) return std::nullopt;
  damaged_ = false;
  ssize_t got = 0;
  do {
    got = pread(fd_, text_.data(), text_.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = errno;
    return std::nullopt;
  }
  error_ = 0;
  return std::string_view(text_.data(), static_cast<size_t>(got));
}

std::string ProcFile::problem() const {
  if (error_ != 0) return path_ + ": " + std::strerror(error_);
  if (damaged_) return path_ + ": not of the form that is known";
  return "";
}

std::string Below(const std::string& root, std::string_view path) {
  std::string below = root;
  while (below.ends_with('/')) below.pop_back();
  return below.append(path);
}

std::optional<std::string> ReadOnce(const std::string& path) {
  constexpr uint64_t kLimit = 8 << 20;  // /proc/cpuinfo of a thousand cores
  auto content = ReadWholeFile(path, kLimit);
  if (!content.ok()) return std::nullopt;
  return std::move(content).value();
}

}  // namespace stallscope::system
