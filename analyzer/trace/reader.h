// Reads a trace, whole or damaged, finished or still growing.
//
// Whole frames are delivered; everything else is skipped, counted and located (salvage). Opening
// fails only for a file that is not a trace at all, ends inside its header, or requires an unknown
// feature. Time is linear in the size of the file, whatever it contains, and memory is a window of
// at most 2 MiB. One thread at a time.
#pragma once

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
  static Result<TraceReader> Open(InputFile file);
  // Whether the first bytes are a trace's, even if partly damaged.
  static bool LooksLikeTrace(std::string_view first_bytes);

  // The next whole frame with a chunk; nothing at the current end of the file, after which a
  // growing file may be tried again. Fails if the disk does.
  Result<std::optional<Chunk>> Next();
  // The same frame by frame, without decoding: the payload stays valid until the next call.
  struct Frame {
    FrameHeader header;
    std::string_view payload;
    uint64_t offset = 0;
  };
  Result<std::optional<Frame>> NextFrame();

  const InputFile& file() const { return file_; }
  const FileHeader& header() const { return header_; }
  // In what has been read so far.
  const Damage& damage() const { return damage_; }
  // A frame that passed its checksum but has no readable chunk: counts as damage.
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
  uint64_t checked_in_vain_ = 0;  // bytes after what were not frame headers
  uint64_t frames_ = 0;
  std::map<uint32_t, uint32_t> next_sequence_;
};

}  // namespace stallscope::trace
