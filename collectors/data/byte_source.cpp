#include "collectors/data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "analyzer/base/amplification.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::data {
namespace {

Error FileError(const std::string& path, const char* action, int error) {
  return Error{ErrorKind::kRun, std::string(action) + ": " + std::strerror(error), path,
               error == EISDIR   ? "name the files in it: folder/*"
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

// Returns the peeked bytes first, then the rest.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> inner)
      : ByteSource(inner->name()), inner_(std::move(inner)) {}

  Result<ByteView> Peek() {
    STALLSCOPE_ASSIGN_OR_RETURN(end_, ReadFully(*inner_, first_.data(), first_.size()));
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

class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, Compression compression)
      : ByteSource(packed->name()), packed_(std::move(packed)), compression_(compression) {}
  ~InflateSource() override {
    if (started_) inflateEnd(&stream_);
  }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  Result<size_t> Read(uint8_t* into, size_t size) override;
  std::optional<uint64_t> TotalBytes() const override { return std::nullopt; }
  uint64_t PackedBytesRead() const override { return packed_->PackedBytesRead(); }
  bool compressed() const override { return true; }

 private:
  static constexpr size_t kPackedBlock = size_t{128} << 10;

  Status Start();
  Result<bool> Refill();  // false at the end of the packed bytes
  Error Damaged(const char* what) const;

  std::unique_ptr<ByteSource> packed_;
  Compression compression_;
  Buffer block_;
  z_stream stream_{};
  bool started_ = false;
  bool ended_ = false;       // a stream is complete and the next, if any, has not started
  uint64_t packed_end_ = 0;  // how many packed bytes have been read
};

Error InflateSource::Damaged(const char* what) const {
  const char* kind = compression_ == Compression::kGzip ? "gzip" : "zlib";
  return Error{ErrorKind::kRun, std::string("the ") + kind + " data " + what,
               name() + ", packed offset " + std::to_string(packed_end_ - stream_.avail_in),
               "copy or write the file again"};
}

Status InflateSource::Start() {
  block_.Resize(kPackedBlock);
  const int window = compression_ == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
  if (inflateInit2(&stream_, window) != Z_OK) {
    return Error{ErrorKind::kRun, "zlib cannot start: out of memory", name(), ""};
  }
  started_ = true;
  return {};
}

Result<bool> InflateSource::Refill() {
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, packed_->Read(block_.data(), kPackedBlock));
  packed_end_ += got;
  stream_.next_in = block_.data();
  stream_.avail_in = static_cast<uInt>(got);
  return got > 0;
}

Result<size_t> InflateSource::Read(uint8_t* into, size_t size) {
  if (!started_) STALLSCOPE_RETURN_IF_ERROR(Start());
  stream_.next_out = into;
  stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, size_t{1} << 30));
  const uInt wanted = stream_.avail_out;
  while (stream_.avail_out == wanted) {
    if (stream_.avail_in == 0) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more && ended_) break;
      if (!more) return Damaged("is truncated");
    }
    if (ended_) {
      // gzip files may be concatenated; zlib data may not.
      if (compression_ == Compression::kZlib) return Damaged("continues after its end");
      if (inflateReset(&stream_) != Z_OK) return Damaged("cannot be continued");
      ended_ = false;
    }
    const int state = inflate(&stream_, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
      ended_ = true;
    } else if (state == Z_MEM_ERROR) {
      return Error{ErrorKind::kRun, "zlib is out of memory", name(), ""};
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      return Damaged("is damaged");
    }
  }
  return static_cast<size_t>(wanted - stream_.avail_out);
}

// The kernel copies fastest to the start of a page.
constexpr size_t kPage = 4096;
constexpr size_t PageUp(size_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

Result<size_t> ReadFully(ByteSource& source, uint8_t* into, size_t size) {
  size_t end = 0;
  while (end < size) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, source.Read(into + end, size - end));
    if (got == 0) break;
    end += got;
  }
  return end;
}

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
  // Opening a pipe that nobody writes to would block, ignoring Ctrl-C.
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
                 path, "remove it from the source's files, or set on_error to skip"};
  }
  const auto size = static_cast<uint64_t>(about.st_size);
  // Doubles the kernel's readahead; a file in the page cache is not slowed down.
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

std::unique_ptr<ByteSource> OpenInflateSource(std::unique_ptr<ByteSource> packed,
                                              Compression compression) {
  return std::make_unique<InflateSource>(std::move(packed), compression);
}

constexpr int64_t kBurstNs = 20 * kNsPerMs;

TokenBucket::TokenBucket(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {
  assert(bytes_per_s > 0);
}

int64_t TokenBucket::DueAt(uint64_t bytes, int64_t now_ns) {
  const double cost = static_cast<double>(bytes) * kNsPerSecond / static_cast<double>(bytes_per_s_);
  const std::lock_guard lock(mutex_);
  if (next_ns_ == INT64_MIN) next_ns_ = now_ns;
  // Tokens unused for longer than the burst are lost.
  next_ns_ = std::max(next_ns_, now_ns - kBurstNs) + static_cast<int64_t>(std::min(cost, 9e17));
  return next_ns_;
}

void TokenBucket::Take(uint64_t bytes) {
  const int64_t due = DueAt(bytes, MonotonicNs());
  const timespec until{static_cast<time_t>(due / kNsPerSecond),
                       static_cast<long>(due % kNsPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

uint64_t TokenBucket::ReadSize() const {
  return std::clamp<uint64_t>(bytes_per_s_ / 50 / 4096 * 4096, 4096, uint64_t{1} << 20);
}

Window::Window(std::unique_ptr<ByteSource> source, size_t block_bytes)
    : source_(std::move(source)), block_bytes_(std::max(PageUp(block_bytes), kPage)) {}

void Window::Pass(size_t size) {
  assert(size <= end_ - begin_);
  begin_ += size;
  offset_ += size;
}

// Moves the tail right before a page boundary, with room for a block after it.
Status Window::MakeRoom(size_t tail) {
  const size_t block_start = PageUp(tail);
  const size_t needed = block_start + block_bytes_;
  const size_t new_begin = block_start - tail;
  if (needed > buffer_.size()) {
    const uint64_t packed = source_->PackedBytesRead();
    if (needed > MostMemoryFor(packed)) {
      return Error{ErrorKind::kRun,
                   "a record of more than " + std::to_string(tail >> 20) + " MiB from " +
                       std::to_string(packed) + " packed bytes: no real data compresses so well",
                   source_->name(), "unpack the file yourself if you trust it"};
    }
    Buffer grown;
    if (!grown.TryResize(needed + (tail > block_bytes_ ? tail : 0))) {
      return Error{ErrorKind::kRun, "out of memory for a record of this size", source_->name(), ""};
    }
    if (tail > 0) std::memcpy(grown.data() + new_begin, buffer_.data() + begin_, tail);
    buffer_ = std::move(grown);
  } else if (tail > 0) {
    std::memmove(buffer_.data() + new_begin, buffer_.data() + begin_, tail);
  }
  begin_ = new_begin;
  end_ = block_start;
  return {};
}

Status Window::Fill(size_t size) {
  while (end_ - begin_ < size && !ended_) {
    // After a short block, a long tail is better left in place than moved again.
    const bool fits = begin_ < end_ && end_ + block_bytes_ <= buffer_.size() &&
                      (end_ % Buffer::kAlignment == 0 || end_ - begin_ >= block_bytes_);
    if (!fits) STALLSCOPE_RETURN_IF_ERROR(MakeRoom(end_ - begin_));
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                source_->Read(buffer_.data() + end_, block_bytes_));
    end_ += got;
    ended_ = got == 0;
  }
  return {};
}

std::string Describe(const Origin& origin) {
  return fmt::format("{}, offset {}, record {}", origin.file, origin.offset, origin.record);
}

Error Locate(Error error, const Origin& origin) {
  std::string where = Describe(origin);
  if (!error.where.empty()) where += ", " + error.where;
  error.where = std::move(where);
  return error;
}

Error AsRunError(Error error) {
  error.kind = ErrorKind::kRun;
  return error;
}

}  // namespace stallscope::data
