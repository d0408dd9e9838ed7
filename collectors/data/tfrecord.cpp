#include "collectors/data/tfrecord.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr size_t kLengthSize = 12;  // with its CRC
constexpr size_t kTrailerSize = 4;
constexpr size_t kFlushBytes = size_t{1} << 20;

}  // namespace

bool TfRecordReader::LooksLikeRecord(ByteView first_bytes) {
  return first_bytes.size() >= kLengthSize &&
         MaskCrc(Crc32c(first_bytes.first(8))) == ValueAt<uint32_t>(first_bytes, 8);
}

Result<TfRecordReader> TfRecordReader::Open(const std::string& path, const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto file, OpenFileSource(path, options));
  return Over(std::move(file), options);
}

Result<TfRecordReader> TfRecordReader::Over(std::unique_ptr<ByteSource> source,
                                            const ReadOptions& options) {
  // A length may look like a zlib header; followed by its CRC, it is a length.
  STALLSCOPE_ASSIGN_OR_RETURN(auto plain, Unpacked(std::move(source), &LooksLikeRecord));
  return TfRecordReader(std::move(plain), options);
}

Error TfRecordReader::At(std::string what, std::string hint) const {
  return Error{ErrorKind::kRun, std::move(what), Describe({path(), window_.offset(), index_}),
               std::move(hint)};
}

Error TfRecordReader::LoseTheRest(std::string what, std::string hint) {
  const uint64_t offset = window_.offset();
  const auto total = compressed() ? std::nullopt : window_.source().TotalBytes();
  const uint64_t rest =
      total.has_value() && *total > offset ? *total - offset : window_.view().size();
  what +=
      fmt::format("; {}{} bytes from here on are lost", total.has_value() ? "" : "at least ", rest);
  Error error = At(std::move(what), std::move(hint));
  lost_.rest_of_file = true;
  lost_.bytes += rest;
  return error;
}

// A source that cannot be read, or unpacked, ends the file.
Status TfRecordReader::Fill(size_t size) {
  Status filled = window_.Fill(size);
  if (filled.ok()) return filled;
  Error error = std::move(filled).error();
  error.where += fmt::format(", record {}", index_);
  lost_.rest_of_file = true;
  lost_.bytes += window_.view().size();
  return error;
}

// The length of the next record's payload; nothing at the end of the file.
Result<std::optional<uint64_t>> TfRecordReader::NextLength() {
  STALLSCOPE_RETURN_IF_ERROR(Fill(kLengthSize));
  const ByteView header = window_.view();
  if (header.empty()) return std::optional<uint64_t>();
  if (header.size() < kLengthSize) {
    return LoseTheRest("the file ends inside the header of a record", "copy or write it again");
  }
  const auto length = ValueAt<uint64_t>(header, 0);
  if (!LooksLikeRecord(header)) {
    return LoseTheRest(
        "the CRC of the record's length is wrong",
        index_ == 0 ? "check that this is a TFRecord file" : "copy or write the file again");
  }
  // Nothing is read for a length that exceeds the file or any Example.
  const auto total = window_.source().TotalBytes();
  if (total.has_value() && length > *total - window_.offset()) {
    return LoseTheRest(fmt::format("the file ends inside a record of {} bytes", length),
                       "copy or write it again");
  }
  if (length > kMaxRecordBytes) {
    return LoseTheRest(
        fmt::format("a record of {} bytes is more than the limit of {}", length, kMaxRecordBytes),
        "write smaller records");
  }
  return std::optional<uint64_t>(length);
}

Result<std::optional<Record>> TfRecordReader::Next() {
  if (lost_.rest_of_file) return std::optional<Record>();
  window_.Pass(pending_);
  pending_ = 0;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto length, NextLength());
  if (!length.has_value()) return std::optional<Record>();

  const size_t whole = kLengthSize + static_cast<size_t>(*length) + kTrailerSize;
  STALLSCOPE_RETURN_IF_ERROR(Fill(whole));
  if (window_.view().size() < whole) {
    return LoseTheRest(fmt::format("the file ends inside a record of {} bytes", *length),
                       "copy or write it again");
  }
  const ByteView bytes = window_.view().first(whole);
  const ByteView payload = bytes.subspan(kLengthSize, static_cast<size_t>(*length));
  pending_ = whole;
  if (MaskCrc(Crc32c(payload)) != ValueAt<uint32_t>(bytes, whole - kTrailerSize)) {
    Error error = At(fmt::format("the CRC of the record's {} bytes is wrong", *length),
                     "write the file again, or set on_error to skip");
    ++index_;
    ++lost_.records;
    lost_.bytes += whole;
    return error;
  }
  return std::optional<Record>(Record{payload, index_++, window_.offset(), whole});
}

class TfRecordWriter::Deflater {
 public:
  ~Deflater() {
    if (started_) deflateEnd(&stream_);
  }
  bool Start(Compression compression) {
    const int window = compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    started_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
    return started_;
  }
  // Packs `bytes` and appends the output; all of it if `last`.
  void Pack(ByteView bytes, bool last, Buffer& to) {
    do {
      const size_t piece = std::min<size_t>(bytes.size(), size_t{1} << 30);
      stream_.next_in = const_cast<uint8_t*>(bytes.data());
      stream_.avail_in = static_cast<uInt>(piece);
      bytes = bytes.subspan(piece);
      int state = Z_OK;
      do {
        uint8_t block[16384];
        stream_.next_out = block;
        stream_.avail_out = sizeof block;
        state = deflate(&stream_, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        to.Append({block, sizeof block - stream_.avail_out});
      } while (state == Z_OK && stream_.avail_out == 0);
    } while (!bytes.empty());
  }

 private:
  z_stream stream_{};
  bool started_ = false;
};

TfRecordWriter::TfRecordWriter(OutputFile file, std::unique_ptr<Deflater> deflater)
    : file_(std::move(file)), deflater_(std::move(deflater)) {}
TfRecordWriter::TfRecordWriter(TfRecordWriter&&) noexcept = default;
TfRecordWriter& TfRecordWriter::operator=(TfRecordWriter&&) noexcept = default;
TfRecordWriter::~TfRecordWriter() = default;

Result<TfRecordWriter> TfRecordWriter::Create(const std::string& path, Compression compression,
                                              FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, Over::kNoInput, ops));
  return Into(std::move(file), compression);
}

Result<TfRecordWriter> TfRecordWriter::Into(OutputFile file, Compression compression) {
  std::unique_ptr<Deflater> deflater;
  if (compression != Compression::kNone) {
    deflater = std::make_unique<Deflater>();
    if (!deflater->Start(compression)) {
      return Error{ErrorKind::kRun, "zlib cannot start: out of memory", file.path(), ""};
    }
  }
  return TfRecordWriter(std::move(file), std::move(deflater));
}

Status TfRecordWriter::Put(ByteView bytes) {
  if (deflater_ != nullptr) {
    deflater_->Pack(bytes, false, buffer_);
  } else {
    buffer_.Append(bytes);
  }
  return buffer_.size() >= kFlushBytes ? Flush() : Status();
}

Status TfRecordWriter::Flush() {
  STALLSCOPE_RETURN_IF_ERROR(file_.Append(AsText(buffer_)));
  buffer_.Clear();
  return {};
}

Status TfRecordWriter::Write(ByteView payload) {
  uint8_t header[12];
  const uint64_t length = payload.size();
  std::memcpy(header, &length, sizeof length);
  const uint32_t length_crc = MaskCrc(Crc32c({header, 8}));
  std::memcpy(header + 8, &length_crc, sizeof length_crc);
  uint8_t trailer[4];
  const uint32_t payload_crc = MaskCrc(Crc32c(payload));
  std::memcpy(trailer, &payload_crc, sizeof payload_crc);
  STALLSCOPE_RETURN_IF_ERROR(Put(header));
  STALLSCOPE_RETURN_IF_ERROR(Put(payload));
  STALLSCOPE_RETURN_IF_ERROR(Put(trailer));
  ++records_;
  return {};
}

Status TfRecordWriter::Finish() {
  if (deflater_ != nullptr) deflater_->Pack({}, true, buffer_);
  STALLSCOPE_RETURN_IF_ERROR(Flush());
  return file_.Publish();
}

}  // namespace stallscope::data
