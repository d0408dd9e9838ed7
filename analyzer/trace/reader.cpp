#include "analyzer/trace/reader.h"

#include <algorithm>
#include <memory>

#include "analyzer/trace/limits.h"

namespace stallscope::trace {
namespace {

constexpr size_t kFirstWindow = size_t{64} << 10;  // doubles up to 2 MiB
// After each marker without a whole frame, up to 1 MiB is read and checked, and the next marker may
// be a few bytes on: a file made of markers would take quadratic time. Past this much, we no longer
// look inside what such a header spans.
constexpr uint64_t kMaxCheckedInVain = uint64_t{256} << 20;
// A damaged header counts as a trace's if a frame begins this early.
constexpr size_t kSniffBytes = kHeaderSize + kFrameHeaderSize;

// Whether `bytes`, the last ones available, can be the beginning of a frame.
bool BeginsAFrame(std::string_view bytes) {
  return bytes.substr(0, kSync.size()) == kSync.substr(0, bytes.size());
}

// How many bytes at the end of `bytes` may be a sync marker's first.
size_t SyncBegunAtEnd(std::string_view bytes) {
  size_t count = std::min(bytes.size(), kSync.size() - 1);
  while (bytes.substr(bytes.size() - count) != kSync.substr(0, count)) --count;
  return count;
}

}  // namespace

bool TraceReader::LooksLikeTrace(std::string_view first_bytes) {
  if (first_bytes.substr(0, kMagic.size()) == kMagic) return true;
  if (first_bytes.size() >= kSniffBytes) {
    return first_bytes.substr(kHeaderSize, kSync.size()) == kSync;
  }
  // Truncated inside the magic: still ours, so that the error can say what is wrong.
  return first_bytes.size() >= 4 && kMagic.substr(0, first_bytes.size()) == first_bytes;
}

TraceReader::TraceReader(InputFile file, FileHeader header, Damage header_damage)
    : file_(std::move(file)),
      header_(header),
      header_damage_(std::move(header_damage)),
      damage_(header_damage_) {}

Result<TraceReader> TraceReader::Open(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return Open(std::move(file));
}

Result<TraceReader> TraceReader::Open(InputFile file) {
  const std::string path = file.path();
  char bytes[kSniffBytes];
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, bytes, sizeof bytes));
  const std::string_view start(bytes, got);
  if (got < kHeaderSize) {
    if (got != 0 && !LooksLikeTrace(start)) {
      return Error{ErrorKind::kInput, "this is not a stallscope trace", path, "check the path"};
    }
    return Error{ErrorKind::kInput,
                 "the header is truncated: " + std::to_string(got) + " of " +
                     std::to_string(kHeaderSize) + " bytes",
                 path + ", offset " + std::to_string(got), "record the run again"};
  }
  const std::optional<FileHeader> header = DecodeFileHeader(start);
  Damage damage;
  if (!header) {
    if (!LooksLikeTrace(start)) {
      return Error{ErrorKind::kInput, "this is not a stallscope trace", path, "check the path"};
    }
    damage.bytes = kHeaderSize;
    damage.ranges.push_back({0, kHeaderSize, "the file header is damaged"});
  } else if (header->incompatible_features != 0 || header->major != kVersionMajor) {
    return Error{ErrorKind::kInput,
                 "format version " + std::to_string(header->major) + "." +
                     std::to_string(header->minor) + " with features " +
                     std::to_string(header->incompatible_features) + " is newer than this program",
                 path + ", offset 8", "use a newer stallscope"};
  }
  return TraceReader(std::move(file), header.value_or(FileHeader{}), std::move(damage));
}

void TraceReader::Rewind() {
  damage_ = header_damage_;
  offset_ = kHeaderSize;
  filled_ = 0;
  checked_in_vain_ = 0;
  frames_ = 0;
  next_sequence_.clear();
}

// Not a std::string: that would zero memory that is about to be read into.
void TraceReader::GrowWindow() {
  const size_t capacity = std::max(capacity_ * 2, kFirstWindow);
  auto window = std::make_unique_for_overwrite<char[]>(capacity);
  std::copy_n(window_.get(), filled_, window.get());
  window_ = std::move(window);
  capacity_ = capacity;
}

Result<std::string_view> TraceReader::Peek(size_t size) {
  const bool held = offset_ >= window_offset_ && offset_ - window_offset_ <= filled_;
  const size_t passed = held ? static_cast<size_t>(offset_ - window_offset_) : filled_;
  if (filled_ - passed < size) {
    std::copy(window_.get() + passed, window_.get() + filled_, window_.get());
    filled_ -= passed;
    window_offset_ = offset_;
    // The window grows as the bytes come, not as a frame's length says.
    for (bool at_end = false; filled_ < size && !at_end;) {
      if (filled_ == capacity_) GrowWindow();
      const size_t room = capacity_ - filled_;
      STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                  file_.ReadAt(offset_ + filled_, window_.get() + filled_, room));
      filled_ += got;
      at_end = got < room;
    }
  }
  return std::string_view(window_.get(), filled_)
      .substr(static_cast<size_t>(offset_ - window_offset_), size);
}

void TraceReader::Forget() {
  filled_ = std::min(filled_, static_cast<size_t>(offset_ - window_offset_));
}

void TraceReader::AddDamage(uint64_t offset, uint64_t length, const std::string& reason) {
  damage_.bytes += length;
  if (!damage_.ranges.empty()) {
    DamagedRange& last = damage_.ranges.back();
    if (last.offset + last.length == offset) {
      last.length += length;
      return;
    }
  }
  if (damage_.ranges.size() < Damage::kMaxRanges)
    damage_.ranges.push_back({offset, length, reason});
}

void TraceReader::MarkDamaged(const Frame& frame, const std::string& reason) {
  AddDamage(frame.offset, kFrameHeaderSize + frame.payload.size(), reason);
}

void TraceReader::PassOver(uint64_t bytes) {
  AddDamage(offset_, bytes, "not a whole frame");
  offset_ += bytes;
}

// From offset_ + 1 on, to the next sync marker, or to what may be the beginning of one at the end.
Status TraceReader::SkipToSync() {
  PassOver(1);
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view bytes, Peek(kFirstWindow));
    const size_t found = bytes.find(kSync);
    if (found != std::string_view::npos) {
      PassOver(found);
      return {};
    }
    PassOver(bytes.size() - SyncBegunAtEnd(bytes));
    if (bytes.size() < kFirstWindow) return {};
  }
}

TraceReader::Frame TraceReader::Accept(const FrameHeader& header, std::string_view bytes) {
  const Frame frame{header, bytes.substr(kFrameHeaderSize), offset_};
  uint32_t& expected = next_sequence_[header.stream];
  if (header.sequence > expected) damage_.missing_frames += header.sequence - expected;
  expected = std::max(expected, header.sequence + 1);
  offset_ += bytes.size();
  ++frames_;
  return frame;
}

Result<std::optional<TraceReader::Frame>> TraceReader::NextFrame() {
  damage_.cut_at.reset();
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string_view bytes, Peek(kFrameHeaderSize));
    if (bytes.empty()) return std::optional<Frame>();
    const bool header_cut = bytes.size() < kFrameHeaderSize;
    bool cut = header_cut && BeginsAFrame(bytes);
    const std::optional<FrameHeader> header = header_cut ? std::nullopt : DecodeFrameHeader(bytes);
    if (header) {
      const size_t size = kFrameHeaderSize + header->length;
      STALLSCOPE_ASSIGN_OR_RETURN(bytes, Peek(size));
      if (bytes.size() < size) {
        // If nothing that could be a frame follows, the writer died or has not finished yet.
        cut = bytes.substr(kSync.size()).find(kSync) == std::string_view::npos;
      } else if (FrameIsWhole(bytes, *header, bytes.substr(kFrameHeaderSize))) {
        return std::optional<Frame>(Accept(*header, bytes));
      }
      if (!cut) checked_in_vain_ += bytes.size();
    }
    if (cut) {
      damage_.cut_at = offset_;
      Forget();
      return std::optional<Frame>();
    }
    if (header && checked_in_vain_ > kMaxCheckedInVain) {
      PassOver(bytes.size());
    } else {
      STALLSCOPE_RETURN_IF_ERROR(SkipToSync());
    }
  }
}

Result<std::optional<Chunk>> TraceReader::Next() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::optional<Frame> frame, NextFrame());
    if (!frame) return std::optional<Chunk>();
    if (frame->header.type != FrameType::kChunk && frame->header.type != FrameType::kSeal) continue;
    Result<Chunk> chunk = DecodeChunk(frame->payload);
    if (chunk.ok()) return std::optional<Chunk>(std::move(chunk).value());
    MarkDamaged(*frame, chunk.error().what);
  }
}

}  // namespace stallscope::trace
