// Bytes one after the other: from a file, unpacked, or from memory; a window that slides over them;
// and the place of an element in them, which every error names.
//
// A file is read by read(2) in large blocks into the caller's buffer, never through a map: a page
// fault cannot be counted as I/O, and a file that shrinks would raise a signal. Compression (gzip,
// zlib) is detected by content. Sources and windows belong to one thread at a time; a throttle may
// be shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

// Where an element came from.
struct Origin {
  std::string_view file;
  uint64_t offset = 0;  // in the file; if compressed, in the unpacked data
  uint64_t record = 0;  // counted from 0
};

// "train.tfrecord, offset 1024, record 7"
std::string Describe(const Origin& origin);

// The same error, with the origin before what `where` already says (a place inside the element).
Error Locate(Error error, const Origin& origin);

// A file library's error as the run that needed the file sees it: data that cannot be read ends a
// run.
Error AsRunError(Error error);

// A slow disk for tests: a token bucket that reads wait for. Readers that share one bucket share
// its rate, as they would share a disk. Any thread.
class TokenBucket {
 public:
  // bytes_per_s > 0. The bucket holds 20 ms of them, and is empty at first.
  explicit TokenBucket(uint64_t bytes_per_s);

  // Takes the tokens and sleeps until they were due. Takers are served in order of arrival, and
  // each waits for its own tokens only.
  void Take(uint64_t bytes);

  // When the tokens are due, on CLOCK_MONOTONIC, for a taker that arrives at `now_ns`: what Take
  // sleeps until, without the clock, so that tests need none.
  int64_t DueAt(uint64_t bytes, int64_t now_ns);

  // The most that one read should ask for, so that data flows evenly and not in bursts.
  uint64_t ReadSize() const;

 private:
  const uint64_t bytes_per_s_;
  std::mutex mutex_;
  int64_t next_ns_ = INT64_MIN;  // when the tokens already promised will have arrived
};

struct ReadOptions {
  // The size of one read(2). 256 KiB stays in the second-level cache until its CRC is taken.
  size_t block_bytes = size_t{256} << 10;
  std::shared_ptr<TokenBucket> throttle;  // may be null
  // Called after each read(2) of the file with when it began (the throttle's sleep included), when
  // it ended, how many bytes came and how long the thread was off the CPU meanwhile: a copy from
  // the page cache is not a wait, a disk is. May be empty.
  std::function<void(Ticks begin, Ticks end, uint64_t bytes, int64_t blocked_ns)> on_read;
  // Clocks for on_read: wall time less CPU time.
  static int64_t BlockedClock() { return MonotonicNs() - ThreadCpuNs(); }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes; fewer than that at any time, 0 only at the end.
  virtual Result<size_t> Read(uint8_t* into, size_t size) = 0;
  // Total bytes, if known beforehand: a bound on lengths that the data claims.
  virtual std::optional<uint64_t> TotalBytes() const = 0;
  // Bytes read so far, as stored on disk: a bound on what may be unpacked from them.
  virtual uint64_t PackedBytesRead() const = 0;
  virtual bool compressed() const { return false; }
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Reads until `size` bytes have come or the source ends.
Result<size_t> ReadFully(ByteSource& source, uint8_t* into, size_t size);

enum class Compression : uint8_t { kNone, kGzip, kZlib };

// What the first bytes look like. A zlib header is two bytes with a checksum of five bits, so
// callers who know a stronger sign of plain data look for that first.
Compression CompressionOf(ByteView first_bytes);

// A regular file, or a link to one: nothing else is opened, and the call never waits for a writer.
Result<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path,
                                                   const ReadOptions& options);
// `bytes` must outlive the source.
std::unique_ptr<ByteSource> OpenMemorySource(std::string name, ByteView bytes);
// Unpacks gzip (multiple members too) or zlib. Truncated or damaged data is an error.
std::unique_ptr<ByteSource> OpenInflateSource(std::unique_ptr<ByteSource> packed,
                                              Compression compression);
// The source, unpacked if its first bytes (at most 64) look packed and `plain` does not recognize
// them as plain data.
Result<std::unique_ptr<ByteSource>> Unpacked(std::unique_ptr<ByteSource> source,
                                             bool (*plain)(ByteView first_bytes));

// A window over a source: look at the next bytes, however many, then skip them.
//
// The window owns one buffer. Each block is read to a page boundary of it (what is left of the
// block before is moved in front), so that the kernel copies at full speed. Memory grows only as
// bytes arrive, never by what a length in the data claims, and of packed data no further than
// analyzer/base/amplification.h lets it. Views last until the next Fill.
class Window {
 public:
  Window(std::unique_ptr<ByteSource> source, size_t block_bytes);

  // Makes at least `size` bytes available, fewer only where the source ends. If it must read, it
  // reads at least a whole block.
  Status Fill(size_t size);
  // What is available now.
  ByteView view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void Pass(size_t size);

  uint64_t offset() const { return offset_; }  // of view() in the source
  bool at_end() const { return ended_ && begin_ == end_; }
  const ByteSource& source() const { return *source_; }

 private:
  Status MakeRoom(size_t tail);

  std::unique_ptr<ByteSource> source_;
  const size_t block_bytes_;
  Buffer buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace stallscope::data
