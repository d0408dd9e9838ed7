#include "collectors/data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "collectors/data/origin.h"

namespace stallscope::data {
namespace {

Error FileError(const std::string& path, const char* action, int error) {
  return Error{ErrorKind::kRun, std::string(action) + ": " + std::strerror(error), path,
               error == EISDIR   ? "name the files in it, as in folder/*"
               : error == EIO    ? "the disk reports an error; check it"
               : error == ENOENT ? "check the path"
                                 : ""};
}

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string path, std::optional<uint64_t> size, const ReadOptions& options)
      : ByteSource(std::move(path)), fd_(fd), size_(size), options_(options) {}
  ~FileSource() override { close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<size_t> Read(uint8_t* into, size_t size) override {
    const bool timed = static_cast<bool>(options_.on_read);
    const int64_t blocked = timed ? ReadOptions::BlockedClock() : 0;
    const Ticks begin = timed ? NowTicks() : 0;
    if (options_.throttle != nullptr) {
      size = std::min<size_t>(size, options_.throttle->ReadSize());
    }
    ssize_t got;
    do {
      got = read(fd_, into, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return FileError(name(), "cannot read", errno);
    read_ += static_cast<uint64_t>(got);
    if (options_.throttle != nullptr && got > 0) {
      options_.throttle->Take(static_cast<uint64_t>(got));
    }
    if (timed) {
      options_.on_read(begin, NowTicks(), static_cast<uint64_t>(got),
                       ReadOptions::BlockedClock() - blocked);
    }
    return static_cast<size_t>(got);
  }

  std::optional<uint64_t> TotalBytes() const override { return size_; }
  uint64_t PackedBytesRead() const override { return read_; }

 private:
  int fd_;
  uint64_t read_ = 0;
  std::optional<uint64_t> size_;
  ReadOptions options_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, ByteView bytes) : ByteSource(std::move(name)), rest_(bytes) {
    size_ = bytes.size();
  }
  Result<size_t> Read(uint8_t* into, size_t size) override {
    const size_t got = std::min(size, rest_.size());
    if (got > 0) std::memcpy(into, rest_.data(), got);
    rest_ = rest_.subspan(got);
    return got;
  }
  std::optional<uint64_t> TotalBytes() const override { return size_; }
  uint64_t PackedBytesRead() const override { return size_ - rest_.size(); }

 private:
  ByteView rest_;
  uint64_t size_ = 0;
};

// Gives first the bytes that were read to look at, then the rest.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> inner)
      : ByteSource(inner->name()), inner_(std::move(inner)) {}

  Result<ByteView> Peek() {
    while (end_ < first_.size()) {
      STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                  inner_->Read(first_.data() + end_, first_.size() - end_));
      if (got == 0) break;
      end_ += got;
    }
    return ByteView(first_.data(), end_);
  }

  Result<size_t> Read(uint8_t* into, size_t size) override {
    if (begin_ == end_) return inner_->Read(into, size);
    const size_t got = std::min(size, end_ - begin_);
    std::memcpy(into, first_.data() + begin_, got);
    begin_ += got;
    if (got == size) return got;
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t more, inner_->Read(into + got, size - got));
    return got + more;
  }
  std::optional<uint64_t> TotalBytes() const override { return inner_->TotalBytes(); }
  uint64_t PackedBytesRead() const override { return inner_->PackedBytesRead(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::array<uint8_t, 64> first_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace

Compression CompressionOf(ByteView first_bytes) {
  if (first_bytes.size() >= 3 && first_bytes[0] == 0x1f && first_bytes[1] == 0x8b &&
      first_bytes[2] == 8) {
    return Compression::kGzip;
  }
  // Deflate with a window of at most 32 KiB, no preset dictionary, and a header checksum that fits.
  if (first_bytes.size() >= 2 && (first_bytes[0] & 0x0f) == 8 && (first_bytes[0] >> 4) <= 7 &&
      (first_bytes[1] & 0x20) == 0 && (first_bytes[0] * 256 + first_bytes[1]) % 31 == 0) {
    return Compression::kZlib;
  }
  return Compression::kNone;
}

Result<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path,
                                                   const ReadOptions& options) {
  // A pipe that nobody writes to would keep open() waiting, through every Ctrl-C.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(path, "cannot open the file", errno);
  struct stat about {};
  if (fstat(fd, &about) != 0 || S_ISDIR(about.st_mode)) {
    const int error = S_ISDIR(about.st_mode) ? EISDIR : errno;
    close(fd);
    return FileError(path, "cannot read", error);
  }
  if (!S_ISREG(about.st_mode)) {
    close(fd);
    return Error{ErrorKind::kRun,
                 S_ISFIFO(about.st_mode) ? "is a named pipe, not a file" : "is not a regular file",
                 path, "take it out of the source's files, or set on_error to skip"};
  }
  const auto size = static_cast<uint64_t>(about.st_size);
  // Doubles the kernel's readahead; a file that is in the page cache already loses nothing.
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(fd, path, size, options));
}

std::unique_ptr<ByteSource> OpenMemorySource(std::string name, ByteView bytes) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

Result<std::unique_ptr<ByteSource>> Unpacked(std::unique_ptr<ByteSource> source,
                                             bool (*plain)(ByteView first_bytes)) {
  auto peeked = std::make_unique<PeekedSource>(std::move(source));
  STALLSCOPE_ASSIGN_OR_RETURN(const ByteView first, peeked->Peek());
  const Compression compression = plain(first) ? Compression::kNone : CompressionOf(first);
  if (compression == Compression::kNone) return std::unique_ptr<ByteSource>(std::move(peeked));
  return OpenInflateSource(std::move(peeked), compression);
}

}  // namespace stallscope::data
