#include "analyzer/trace/reader.h"

#include <algorithm>

#include "analyzer/trace/limits.h"

namespace stallscope::trace {
namespace {

constexpr size_t kReadAhead = size_t{1} << 20;
// A damaged header is believed to be a trace's if a frame begins this early.
constexpr size_t kSniffBytes = kHeaderSize + kFrameHeaderSize;

}  // namespace

bool TraceReader::LooksLikeTrace(std::string_view first_bytes) {
  if (first_bytes.substr(0, kMagic.size()) == kMagic) return true;
  if (first_bytes.size() >= kSniffBytes) {
    return first_bytes.substr(kHeaderSize, kSync.size()) == kSync;
  }
  // Cut off inside the magic: still ours, so that the error can say what is wrong.
  return first_bytes.size() >= 4 && kMagic.substr(0, first_bytes.size()) == first_bytes;
}

TraceReader::TraceReader(InputFile file, FileHeader header, Damage header_damage)
    : file_(std::move(file)),
      header_(header),
      header_damage_(std::move(header_damage)),
      damage_(header_damage_) {}

Result<TraceReader> TraceReader::Open(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  char bytes[kSniffBytes];
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, bytes, sizeof bytes));
  const std::string_view start(bytes, got);
  if (got < kHeaderSize) {
    if (got != 0 && !LooksLikeTrace(start)) {
      return Error{ErrorKind::kInput, "this is no stallscope trace", path, "check the path"};
    }
    return Error{ErrorKind::kInput,
                 "the header is cut off: " + std::to_string(got) + " of " +
                     std::to_string(kHeaderSize) + " bytes are there",
                 path + ", offset " + std::to_string(got), "record the run again"};
  }
  const std::optional<FileHeader> header = DecodeFileHeader(start);
  Damage damage;
  if (!header) {
    if (!LooksLikeTrace(start)) {
      return Error{ErrorKind::kInput, "this is no stallscope trace", path, "check the path"};
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
  frames_ = 0;
  next_sequence_.clear();
}

Result<std::string_view> TraceReader::Peek(size_t size) {
  const bool held = offset_ >= buffer_offset_ && offset_ - buffer_offset_ <= buffer_.size();
  const size_t have = held ? buffer_.size() - static_cast<size_t>(offset_ - buffer_offset_) : 0;
  if (have < size) {
    const std::string kept = held ? buffer_.substr(buffer_.size() - have) : std::string();
    buffer_.resize(std::max(size, kReadAhead));
    std::copy(kept.begin(), kept.end(), buffer_.begin());
    auto got = file_.ReadAt(offset_ + have, buffer_.data() + have, buffer_.size() - have);
    if (!got.ok()) return std::move(got).error();
    buffer_.resize(have + got.value());
    buffer_offset_ = offset_;
  }
  return std::string_view(buffer_).substr(static_cast<size_t>(offset_ - buffer_offset_), size);
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

// From offset_ + 1 on, to the next sync marker or the end.
Status TraceReader::SkipToSync() {
  const uint64_t from = offset_;
  ++offset_;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::string_view bytes, Peek(kReadAhead));
    const size_t found = bytes.find(kSync);
    if (found != std::string_view::npos) {
      offset_ += found;
      break;
    }
    // A marker may begin in the last bytes that are there.
    const size_t passed = bytes.size() < kReadAhead ? bytes.size() : bytes.size() - kSync.size();
    offset_ += passed;
    if (bytes.size() < kReadAhead) break;
  }
  AddDamage(from, offset_ - from, "not a whole frame");
  return {};
}

Result<std::optional<TraceReader::Frame>> TraceReader::NextFrame() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string_view bytes, Peek(kFrameHeaderSize));
    if (bytes.empty()) return std::optional<Frame>();
    damage_.cut_at.reset();
    const bool header_cut = bytes.size() < kFrameHeaderSize;
    const std::optional<FrameHeader> header = header_cut ? std::nullopt : DecodeFrameHeader(bytes);
    if (header_cut && kSync.substr(0, bytes.size()) == bytes.substr(0, kSync.size())) {
      damage_.cut_at = offset_;
      return std::optional<Frame>();
    }
    if (header) {
      const size_t size = kFrameHeaderSize + header->length;
      STALLSCOPE_ASSIGN_OR_RETURN(bytes, Peek(size));
      if (bytes.size() == size) {
        const std::string_view payload = bytes.substr(kFrameHeaderSize);
        if (FrameIsWhole(bytes, *header, payload)) {
          const Frame frame{*header, payload, offset_};
          uint32_t& expected = next_sequence_[header->stream];
          if (header->sequence > expected) damage_.missing_frames += header->sequence - expected;
          expected = std::max(expected, header->sequence + 1);
          offset_ += size;
          ++frames_;
          return std::optional<Frame>(frame);
        }
      } else if (bytes.substr(kSync.size()).find(kSync) == std::string_view::npos) {
        // Nothing that could be a frame follows: the writer died or has not finished yet.
        damage_.cut_at = offset_;
        return std::optional<Frame>();
      }
    }
    STALLSCOPE_RETURN_IF_ERROR(SkipToSync());
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
