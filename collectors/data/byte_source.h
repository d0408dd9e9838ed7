// Bytes one after the other: out of a file, unpacked, or out of memory.
//
// A file is read by read(2) in large blocks into the caller's buffer, never through a map: a page
// fault cannot be counted as I/O, and a file that shrinks would be a signal.
// Compression (gzip, zlib) is told by content. One thread at a time; the throttle may be shared.
#ifndef STALLSCOPE_COLLECTORS_DATA_BYTE_SOURCE_H_
#define STALLSCOPE_COLLECTORS_DATA_BYTE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/throttle.h"

namespace stallscope::data {

struct ReadOptions {
  // What one read(2) asks for. 256 KiB stays in the second-level cache until its CRC is taken.
  size_t block_bytes = size_t{256} << 10;
  std::shared_ptr<TokenBucket> throttle;  // may be null
  // Called after each read(2) of the file with when it began (the throttle's sleep included), when
  // it ended, how many bytes came and how long the thread was off the CPU meanwhile: a copy out of
  // the page cache is no wait, a disk is. May be empty.
  std::function<void(Ticks begin, Ticks end, uint64_t bytes, int64_t blocked_ns)> on_read;
  // Clocks for on_read: wall time less CPU time.
  static int64_t BlockedClock() { return MonotonicNs() - ThreadCpuNs(); }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes; fewer than that at any time, 0 only at the end.
  virtual Result<size_t> Read(uint8_t* into, size_t size) = 0;
  // Bytes in all, where they can be known beforehand: a bound for lengths that the data claims.
  virtual std::optional<uint64_t> TotalBytes() const = 0;
  // Bytes that came so far, as they lie on the disk: what may be made of them is bounded by that.
  virtual uint64_t PackedBytesRead() const = 0;
  virtual bool compressed() const { return false; }
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

enum class Compression : uint8_t { kNone, kGzip, kZlib };

// What the first bytes look like. A zlib header is two bytes with a checksum of five bits, so
// callers who know a stronger sign of plain data look for that first.
Compression CompressionOf(ByteView first_bytes);

// A regular file, or a link to one: nothing else is opened, and the call never waits for a writer.
Result<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path,
                                                   const ReadOptions& options);
// `bytes` must outlive the source.
std::unique_ptr<ByteSource> OpenMemorySource(std::string name, ByteView bytes);
// Unpacks gzip (several members too) or zlib. Data that breaks off or is damaged is an error.
std::unique_ptr<ByteSource> OpenInflateSource(std::unique_ptr<ByteSource> packed,
                                              Compression compression);
// The source, unpacked where its first bytes say that it is packed and `plain` does not say of
// the first bytes (at most 64) that they are plain data.
Result<std::unique_ptr<ByteSource>> Unpacked(std::unique_ptr<ByteSource> source,
                                             bool (*plain)(ByteView first_bytes));

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_BYTE_SOURCE_H_
