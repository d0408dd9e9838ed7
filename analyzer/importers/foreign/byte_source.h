// A foreign file's bytes from front to back, unpacked where it is gzip, and the memory that may be
// spent on them.
//
// A gzip file is inflated on a thread of its own while the caller works on what came before, a few
// blocks ahead at most: memory stays within a few MiB whatever the file's size. Concatenated gzip
// members are one stream. A file that is truncated or fails its checksum yields everything that can
// be unpacked and then reports what is wrong: the beginning of a trace is better than nothing. One
// thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/amplification.h"
#include "analyzer/base/column.h"
#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::importers {

// How much memory a foreign file may take while it becomes a run: the rule of
// analyzer/base/amplification.h, counted in one place for all importers.
//
// Whatever is kept per event, name, row or byte is charged as it is kept, roughly and on the high
// side. Charging never fails: readers call Check() now and then, at least every few MiB, so that
// they overshoot the limit by little.
class Allowance {
 public:
  // What a table entry costs beyond its text: nodes, slots, the string object.
  static constexpr uint64_t kEntryBytes = 96;

  // Unlimited: for a run that comes from no file.
  Allowance() = default;
  explicit Allowance(uint64_t file_bytes)
      : file_bytes_(file_bytes), limit_(MostMemoryFor(file_bytes)) {}

  void Charge(uint64_t bytes) { charged_ += bytes; }
  void ChargeText(uint64_t size) { charged_ += kEntryBytes + size; }
  void GiveBack(uint64_t bytes) { charged_ -= bytes; }
  bool Spent() const { return charged_ > limit_; }
  uint64_t charged() const { return charged_; }

  // kInput once it is spent.
  Status Check(const std::string& path, bool packed) const;

 private:
  uint64_t file_bytes_ = 0;
  uint64_t limit_ = std::numeric_limits<uint64_t>::max();
  uint64_t charged_ = 0;
};

// How far an archive may expand. deflate packs zeros 1,030 to 1 and real traces up to 60 to 1;
// small files are exempt.
struct UnpackLimits {
  uint64_t ratio = 250;
  uint64_t ratio_from_bytes = uint64_t{256} << 20;  // unpacked; the ratio applies from here on
  uint64_t bytes = uint64_t{256} << 30;
};

// The part of a packed file that could not be unpacked.
struct PackedDamage {
  std::string what;     // "the gzip data is truncated", with the offset
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;   // from there to its end
};

class ByteSource {
 public:
  static constexpr size_t kHeadBytes = size_t{64} << 10;
  static constexpr size_t kBlockBytes = size_t{2} << 20;  // large enough for Column to align it

  // Reads the head right away. A missing or unreadable file is an error.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path,
                                                  const UnpackLimits& limits = {});
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The first bytes, unpacked: kHeadBytes of them, or the whole file if it is shorter. The view
  // stays valid; Read() starts with the same bytes.
  std::string_view head() const { return head_; }
  // How much to request at a time if large files are read in pieces of `most`: for a file that is
  // all head, one byte more than its size, so that the first read reaches the end.
  size_t BytesAtOnce(size_t most) const {
    return head_.size() < kHeadBytes ? std::min(most, head_.size() + 1) : most;
  }

  // Reads up to `size` bytes; fewer only at the end. Fails if the disk does, or past UnpackLimits.
  virtual Result<size_t> Read(char* into, size_t size) = 0;
  // The next block, empty at the end; valid until the next call. Use either this or Read.
  Result<std::string_view> Next();
  // For TakeFile: the file, if its bytes are the content.
  virtual std::optional<InputFile> OwnFile() { return std::nullopt; }
  // What was wrong with the packed bytes, once reading has reached their end.
  virtual std::optional<PackedDamage> Damage() const { return std::nullopt; }

  // Memory made from the file is charged here.
  Allowance& allowance() { return allowance_; }
  Status CheckAllowance() const { return allowance_.Check(path_, packed_); }

  const std::string& path() const { return path_; }
  bool packed() const { return packed_; }
  // Whether its path leads to the same bytes: not for what is packed or came through a pipe.
  bool in_place() const { return in_place_; }
  uint64_t file_bytes() const { return file_bytes_; }

 protected:
  ByteSource(std::string path, bool packed, bool in_place, uint64_t file_bytes)
      : path_(std::move(path)),
        packed_(packed),
        in_place_(in_place),
        file_bytes_(file_bytes),
        allowance_(file_bytes) {}
  std::string head_;

 private:
  std::string path_;
  bool packed_;
  bool in_place_;
  uint64_t file_bytes_;
  Allowance allowance_;
  Column<char> block_;  // of Next()
};

// All remaining bytes, for formats that cannot be read in pieces; more than `limit`, or than the
// allowance permits, is an error.
Result<std::string> ReadAll(ByteSource& source, uint64_t limit);

// Records Damage() in the run's quality.
void TellDamage(const ByteSource& source, model::DataQuality& quality);

// The whole content for readers that go back and forth: the source's own file, or a copy in memory
// of what a packed one holds; more than `limit` bytes of that is an error. To be called before any
// reading; afterwards there is nothing left to read from the source.
Result<InputFile> TakeFile(ByteSource& source, uint64_t limit = uint64_t{4} << 30);

}  // namespace stallscope::importers
