#include "analyzer/importers/foreign/byte_source.h"

#include <isa-l/igzip_lib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/base/thread.h"

namespace stallscope::importers {
namespace {

constexpr size_t kPackedBlock = size_t{256} << 10;

const char* What(int error) {
  switch (error) {
    case ISAL_INCORRECT_CHECKSUM:
      return "the gzip data fails its checksum";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "the gzip header is broken";
    default:
      return "the gzip data is damaged";
  }
}

// gzip, unpacked piece by piece with isa-l, which is twice as fast as zlib and checks each member's
// CRC-32 as well.
class Inflater {
 public:
  // "the gzip data is truncated at packed offset 77", and the offset.
  struct Fault {
    std::string what;
    uint64_t offset = 0;
  };

  explicit Inflater(InputFile file) : file_(std::move(file)), block_(kPackedBlock) {
    isal_inflate_init(&stream_);
    stream_.crc_flag = ISAL_GZIP;
  }

  // Fills `into`; fewer bytes only at the end or at damage. Fails only if the disk does.
  Result<size_t> Read(char* into, size_t size) {
    size_t filled = 0;
    while (filled < size && !ended_) {
      if (stream_.block_state == ISAL_BLOCK_FINISH) {
        STALLSCOPE_ASSIGN_OR_RETURN(const bool more, NextMember());
        if (!more) ended_ = true;
        continue;
      }
      bool at_end = false;
      if (stream_.avail_in == 0) {
        STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
        at_end = !more;
      }
      stream_.next_out = reinterpret_cast<uint8_t*>(into) + filled;
      const auto room = static_cast<uint32_t>(std::min<size_t>(size - filled, 1u << 30));
      stream_.avail_out = room;
      const int result = isal_inflate(&stream_);
      filled += room - stream_.avail_out;
      if (result < 0 || result == ISAL_NEED_DICT) {
        Damaged(What(result));
      } else if (at_end && stream_.avail_out == room && stream_.block_state != ISAL_BLOCK_FINISH) {
        // No more input, and no more output.
        Damaged("the gzip data is truncated");
      }
    }
    unpacked_ += filled;
    return filled;
  }

  const std::optional<Fault>& damage() const { return damage_; }
  uint64_t unpacked() const { return unpacked_; }
  uint64_t packed() const { return read_ - stream_.avail_in; }  // of which that was made

 private:
  Result<bool> Refill() {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                file_.ReadAt(read_, block_.data(), block_.size()));
    read_ += got;
    stream_.next_in = block_.data();
    stream_.avail_in = static_cast<uint32_t>(got);
    return got > 0;
  }

  // At the end of a member: either another one follows, or nothing that matters.
  Result<bool> NextMember() {
    for (;;) {
      if (stream_.avail_in == 0) {
        STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
        if (!more) return false;
      }
      // Tapes and some archivers pad with zeros.
      if (*stream_.next_in != 0) break;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (*stream_.next_in != 0x1f) {
      Damaged("something that is not gzip follows the gzip data");
      return false;
    }
    isal_inflate_reset(&stream_);
    stream_.crc_flag = ISAL_GZIP;
    return true;
  }

  void Damaged(const std::string& what) {
    damage_ = Fault{what + " at packed offset " + std::to_string(packed()), packed()};
    ended_ = true;
  }

  InputFile file_;
  std::vector<uint8_t> block_;
  inflate_state stream_{};
  uint64_t read_ = 0;  // packed bytes
  uint64_t unpacked_ = 0;
  bool ended_ = false;
  std::optional<Fault> damage_;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(InputFile file, uint64_t size, const UnpackLimits& limits)
      : ByteSource(file.path(), true, false, size), inflater_(std::move(file)), limits_(limits) {
    for (Block& block : blocks_) block.bytes.resize(kBlockBytes);
  }
  ~GzipSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.Join();
  }

  Status Start() {
    STALLSCOPE_RETURN_IF_ERROR(thread_.Start([this] { Inflate(); },
                                             [this](Error error) {
                                               {
                                                 const std::lock_guard lock(mutex_);
                                                 Block& block = blocks_[made_++ % kBlocks];
                                                 block.error = std::move(error);
                                                 block.last = true;
                                               }
                                               changed_.notify_all();
                                             }));
    const Block& first = Front();
    if (first.error) return *first.error;
    head_.assign(first.bytes.data(), std::min(first.size, kHeadBytes));
    if (first.size == 0 && damage_) {
      return Error{ErrorKind::kInput, damage_->what, path(), "copy the file again"};
    }
    return {};
  }

  Result<size_t> Read(char* into, size_t size) override {
    size_t filled = 0;
    while (filled < size) {
      Block& block = Front();
      if (block.error) return *block.error;
      const size_t part = std::min(size - filled, block.size - taken_);
      std::memcpy(into + filled, block.bytes.data() + taken_, part);
      filled += part;
      taken_ += part;
      if (taken_ < block.size) break;
      if (block.last) break;
      PopFront();
    }
    return filled;
  }

  std::optional<PackedDamage> Damage() const override {
    const std::lock_guard lock(mutex_);
    if (!damage_) return std::nullopt;
    // A truncated file has no bytes after the damage, yet has lost some.
    const uint64_t behind = file_bytes() - std::min(file_bytes(), damage_->offset);
    return PackedDamage{damage_->what, damage_->offset, behind};
  }

 private:
  static constexpr size_t kBlocks = 6;
  struct Block {
    Column<char> bytes;
    size_t size = 0;
    bool last = false;
    std::optional<Error> error;
  };

  // Waits for the oldest block.
  Block& Front() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_ > used_; });
    return blocks_[used_ % kBlocks];
  }
  void PopFront() {
    {
      const std::lock_guard lock(mutex_);
      ++used_;
    }
    taken_ = 0;
    changed_.notify_all();
  }

  bool OverTheLimit() const {
    const uint64_t bytes = inflater_.unpacked();
    return bytes > limits_.bytes ||
           (bytes > limits_.ratio_from_bytes && bytes / limits_.ratio > inflater_.packed());
  }

  void Fill(Block& block) {
    Result<size_t> got = inflater_.Read(block.bytes.data(), block.bytes.size());
    if (!got.ok()) {
      block.error = std::move(got).error();
    } else if (OverTheLimit()) {
      block.error = Error{ErrorKind::kInput,
                          "this gzip file expands more than any trace would: " +
                              std::to_string(inflater_.unpacked() >> 20) + " MiB so far, from " +
                              std::to_string(inflater_.packed() >> 10) + " KiB",
                          path(), "unpack it yourself if you trust it"};
    } else {
      block.size = got.value();
    }
    block.last = block.error || block.size < block.bytes.size();
  }

  void Inflate() {
    for (uint64_t i = 0;; ++i) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || i < used_ + kBlocks; });
        if (stop_) return;
      }
      Block& block = blocks_[i % kBlocks];
      Fill(block);
      const bool last = block.last;
      {
        const std::lock_guard lock(mutex_);
        made_ = i + 1;
        damage_ = inflater_.damage();
      }
      changed_.notify_all();
      if (last) return;
    }
  }

  Inflater inflater_;  // the thread's
  const UnpackLimits limits_;
  std::array<Block, kBlocks> blocks_;  // those in [used_, made_) are the reader's
  size_t taken_ = 0;                   // of the oldest block
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t made_ = 0;
  uint64_t used_ = 0;
  bool stop_ = false;
  std::optional<Inflater::Fault> damage_;
  ThreadGroup thread_;
};

class PlainSource final : public ByteSource {
 public:
  PlainSource(InputFile file, uint64_t size)
      : ByteSource(file.path(), false, !file.copied(), size), file_(std::move(file)) {}

  Status Start() {
    head_.resize(kHeadBytes);
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(0, head_.data(), head_.size()));
    head_.resize(got);
    return {};
  }

  Result<size_t> Read(char* into, size_t size) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(offset_, into, size));
    offset_ += got;
    return got;
  }
  std::optional<InputFile> OwnFile() override { return std::move(file_); }

 private:
  InputFile file_;
  uint64_t offset_ = 0;
};

template <class Source>
Result<std::unique_ptr<ByteSource>> Started(std::unique_ptr<Source> source) {
  STALLSCOPE_RETURN_IF_ERROR(source->Start());
  return std::unique_ptr<ByteSource>(std::move(source));
}

Error NoRoom(const ByteSource& source) {
  return Error{
      ErrorKind::kInput,
      std::string("this packed file cannot be unpacked in memory: ") + std::strerror(errno),
      source.path(), "unpack it first"};
}

}  // namespace

Status Allowance::Check(const std::string& path, bool packed) const {
  if (!Spent()) return {};
  return Error{ErrorKind::kInput,
               "this file of " + std::to_string(file_bytes_) + " bytes would take more than " +
                   std::to_string(limit_ >> 20) + " MiB of memory, which no trace of its size does",
               path,
               packed ? "unpack it with gunzip if you trust it, or record fewer steps"
                      : "record fewer steps, or export it again"};
}

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path,
                                                     const UnpackLimits& limits) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  unsigned char magic[2] = {};
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, magic, sizeof magic));
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    return Started(std::make_unique<GzipSource>(std::move(file), size, limits));
  }
  return Started(std::make_unique<PlainSource>(std::move(file), size));
}

Result<std::string_view> ByteSource::Next() {
  block_.resize(BytesAtOnce(kBlockBytes));
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, Read(block_.data(), block_.size()));
  return std::string_view(block_.data(), got);
}

Result<std::string> ReadAll(ByteSource& source, uint64_t limit) {
  std::string all;
  const size_t least = source.BytesAtOnce(ByteSource::kBlockBytes);
  for (;;) {
    const size_t before = all.size();
    all.resize(before + std::max(least, before / 2));
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                source.Read(all.data() + before, all.size() - before));
    const bool more = got == all.size() - before;
    all.resize(before + got);
    source.allowance().Charge(got);
    STALLSCOPE_RETURN_IF_ERROR(source.CheckAllowance());
    if (all.size() > limit) {
      return Error{ErrorKind::kInput,
                   "this file is too large to read as a whole: more than " +
                       std::to_string(limit >> 20) + " MiB unpacked",
                   source.path(), "record fewer steps"};
    }
    if (!more) return all;
  }
}

void TellDamage(const ByteSource& source, model::DataQuality& quality) {
  const std::optional<PackedDamage> damage = source.Damage();
  if (!damage) return;
  quality.damaged_bytes += damage->bytes;
  // If nothing follows the damage, the file was truncated there.
  if (damage->bytes == 0 && !quality.cut_at) quality.cut_at = damage->offset;
  quality.damaged_ranges.push_back({damage->offset, damage->bytes, damage->what});
  quality.warnings.push_back(source.path() + ": " + damage->what);
}

Result<InputFile> TakeFile(ByteSource& source, uint64_t limit) {
  if (std::optional<InputFile> own = source.OwnFile()) return std::move(*own);
  const int fd = memfd_create("stallscope", MFD_CLOEXEC);
  if (fd < 0) return NoRoom(source);
  InputFile copy = InputFile::Copy(fd, source.path());
  uint64_t size = 0;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string_view block, source.Next());
    if (block.empty()) return copy;
    size += block.size();
    source.allowance().Charge(block.size());
    STALLSCOPE_RETURN_IF_ERROR(source.CheckAllowance());
    if (size > limit) {
      return Error{ErrorKind::kInput,
                   "this packed file is too large to unpack in memory: more than " +
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

}  // namespace stallscope::importers
