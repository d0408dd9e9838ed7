// Reads a trace, whole or damaged, finished or still growing.
//
// Frames that are whole are given; everything else is passed over, counted and placed (salvage).
// Only a file that is no trace at all, ends inside its header, or needs a feature that this reader
// does not know cannot be opened. The time is linear in the size of the file, whatever is in it,
// and the memory is a window of 2 MiB at most. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_TRACE_READER_H_
#define STALLSCOPE_ANALYZER_TRACE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/trace/chunk.h"
#include "analyzer/trace/damage.h"
#include "analyzer/trace/frame.h"

namespace stallscope::trace {

class TraceReader {
 public:
  static Result<TraceReader> Open(const std::string& path);
  // True where the first bytes are a trace's, be they damaged in part.
  static bool LooksLikeTrace(std::string_view first_bytes);

  // The next whole frame that holds a chunk; nothing at the end of what is there now. A file that
  // has grown since may be asked again. The error is the disk's.
  Result<std::optional<Chunk>> Next();
  // The same frame by frame, without decoding: the payload stays valid until the next call.
  struct Frame {
    FrameHeader header;
    std::string_view payload;
    uint64_t offset = 0;
  };
  Result<std::optional<Frame>> NextFrame();

  const FileHeader& header() const { return header_; }
  // Of what has been read so far.
  const Damage& damage() const { return damage_; }
  // A frame that passed its checksum but held no chunk that we can read: counts as damage.
  void MarkDamaged(const Frame& frame, const std::string& reason);
  uint64_t offset() const { return offset_; }
  uint64_t frames() const { return frames_; }
  // Back to the first frame, with no damage seen yet.
  void Rewind();

 private:
  TraceReader(InputFile file, FileHeader header, Damage header_damage);
  // `size` bytes from offset_ on; fewer at the end of the file. Valid until the next call.
  Result<std::string_view> Peek(size_t size);
  void GrowWindow();
  // Bytes after offset_ may be rewritten before the next call.
  void Forget();
  Frame Accept(const FrameHeader& header, std::string_view bytes);
  void PassOver(uint64_t bytes);
  Status SkipToSync();
  void AddDamage(uint64_t offset, uint64_t length, const std::string& reason);

  InputFile file_;
  FileHeader header_;
  Damage header_damage_;
  Damage damage_;
  // A window on the file: filled_ of capacity_ bytes, from window_offset_ on.
  std::unique_ptr<char[]> window_;
  size_t capacity_ = 0;
  size_t filled_ = 0;
  uint64_t window_offset_ = 0;
  uint64_t offset_ = kHeaderSize;
  uint64_t checked_in_vain_ = 0;  // bytes behind frame headers that were none
  uint64_t frames_ = 0;
  std::map<uint32_t, uint32_t> next_sequence_;
};

}  // namespace stallscope::trace

#endif  // STALLSCOPE_ANALYZER_TRACE_READER_H_
