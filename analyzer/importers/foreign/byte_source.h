// A foreign file's bytes from front to back, gzip unpacked on the way.
//
// A packed file is inflated on a thread of its own while the caller works on what came before, a
// few blocks ahead at most: memory stays within a few MiB whatever the file's size. Joined gzip
// members are one stream. A file that breaks off or fails its checksum gives all that could be
// unpacked, and then says what is wrong with it: a trace's beginning is better than nothing. One
// thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_BYTE_SOURCE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_BYTE_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/column.h"
#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/allowance.h"
#include "analyzer/model/run.h"

namespace stallscope::importers {

// What an archive may make of itself. deflate packs zeros 1,030 to 1 and real traces up to 60 to 1;
// a small file may do what it likes.
struct UnpackLimits {
  uint64_t ratio = 250;
  uint64_t ratio_from_bytes = uint64_t{256} << 20;  // unpacked; the ratio counts from here on
  uint64_t bytes = uint64_t{256} << 30;
};

// What of a packed file could not be unpacked.
struct PackedDamage {
  std::string what;     // "the gzip data breaks off", with the offset
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;   // from there to its end
};

class ByteSource {
 public:
  static constexpr size_t kHeadBytes = size_t{64} << 10;
  static constexpr size_t kBlockBytes = size_t{2} << 20;  // large enough for Column to align it

  // Reads the head at once. A missing or unreadable file is an error.
  static Result<std::unique_ptr<ByteSource>> Open(const std::string& path,
                                                  const UnpackLimits& limits = {});
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // The first bytes, unpacked: kHeadBytes of them, or the whole file where it is shorter. They
  // stay valid, and are what reading begins with.
  std::string_view head() const { return head_; }
  // How much to ask for at once where `most` is what a large file is read in: of a file that is all
  // head, one byte more than that, so that the first read comes to its end.
  size_t BytesAtOnce(size_t most) const {
    return head_.size() < kHeadBytes ? std::min(most, head_.size() + 1) : most;
  }

  // Reads up to `size` bytes; fewer only at the end. An error is the disk's, or a limit of
  // UnpackLimits.
  virtual Result<size_t> Read(char* into, size_t size) = 0;
  // The next block, empty at the end; good until the next call. Either this or Read.
  Result<std::string_view> Next();
  // What was wrong with the packed bytes, once reading has come to their end.
  virtual std::optional<PackedDamage> Damage() const { return std::nullopt; }

  // What is made of the file is charged here.
  Allowance& allowance() { return allowance_; }
  Status CheckAllowance() const { return allowance_.Check(path_, packed_); }

  const std::string& path() const { return path_; }
  bool packed() const { return packed_; }
  uint64_t file_bytes() const { return file_bytes_; }

 protected:
  ByteSource(std::string path, bool packed, uint64_t file_bytes)
      : path_(std::move(path)), packed_(packed), file_bytes_(file_bytes), allowance_(file_bytes) {}
  std::string head_;

 private:
  std::string path_;
  bool packed_;
  uint64_t file_bytes_;
  Allowance allowance_;
  Column<char> block_;  // of Next()
};

// All that is left, for formats that cannot be read in pieces; more than `limit`, or than the
// allowance has, is an error.
Result<std::string> ReadAll(ByteSource& source, uint64_t limit);

// Adds what Damage() says to how far the run can be trusted.
void TellDamage(const ByteSource& source, model::DataQuality& quality);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_BYTE_SOURCE_H_
