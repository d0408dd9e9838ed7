#include "collectors/data/tfrecord_reader.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "collectors/data/checksum.h"
#include "collectors/data/origin.h"

namespace stallscope::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr size_t kHeaderSize = 12;
constexpr size_t kTrailerSize = 4;

template <class T>
T Get(ByteView from, size_t offset) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

}  // namespace

bool TfRecordReader::LooksLikeRecord(ByteView first_bytes) {
  return first_bytes.size() >= kHeaderSize &&
         MaskCrc(Crc32c(first_bytes.first(8))) == Get<uint32_t>(first_bytes, 8);
}

Result<TfRecordReader> TfRecordReader::Open(const std::string& path, const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto file, OpenFileSource(path, options));
  return Over(std::move(file), options);
}

Result<TfRecordReader> TfRecordReader::Over(std::unique_ptr<ByteSource> source,
                                            const ReadOptions& options) {
  // A length that reads as a zlib header is possible; with its CRC behind it, it is a length.
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
  what += fmt::format("; the {}{} bytes from here on are lost",
                      total.has_value() ? "" : "at least ", rest);
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
  STALLSCOPE_RETURN_IF_ERROR(Fill(kHeaderSize));
  const ByteView header = window_.view();
  if (header.empty()) return std::optional<uint64_t>();
  if (header.size() < kHeaderSize) {
    return LoseTheRest("the file ends inside the header of a record", "copy or write it again");
  }
  const auto length = Get<uint64_t>(header, 0);
  if (!LooksLikeRecord(header)) {
    return LoseTheRest("the CRC of the record's length is wrong",
                       index_ == 0 ? "is this a TFRecord file?" : "copy or write the file again");
  }
  // Nothing is read for a length that the file cannot hold or that no Example can have.
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

  const size_t whole = kHeaderSize + static_cast<size_t>(*length) + kTrailerSize;
  STALLSCOPE_RETURN_IF_ERROR(Fill(whole));
  if (window_.view().size() < whole) {
    return LoseTheRest(fmt::format("the file ends inside a record of {} bytes", *length),
                       "copy or write it again");
  }
  const ByteView bytes = window_.view().first(whole);
  const ByteView payload = bytes.subspan(kHeaderSize, static_cast<size_t>(*length));
  pending_ = whole;
  if (MaskCrc(Crc32c(payload)) != Get<uint32_t>(bytes, whole - kTrailerSize)) {
    Error error = At(fmt::format("the CRC of the record's {} bytes is wrong", *length),
                     "write the file again, or set on_error to skip");
    ++index_;
    ++lost_.records;
    lost_.bytes += whole;
    return error;
  }
  return std::optional<Record>(Record{payload, index_++, window_.offset(), whole});
}

}  // namespace stallscope::data
