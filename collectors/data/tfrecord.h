// TFRecord files: plain, or gzip or zlib as a whole, which the reader tells by content.
//
//   uint64 length | uint32 masked CRC32C of the length | bytes | uint32 masked CRC32C of the bytes
//
// The reader checks both CRCs of every record. A record is a view into the reader's own buffer,
// valid until the next call; it begins wherever the record does, so whoever keeps the bytes copies
// them into a Buffer. The writer leaves no file unless Finish is called. One thread at a time;
// readers may share a throttle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {

struct Record {
  ByteView payload;
  uint64_t index = 0;   // counted from 0
  uint64_t offset = 0;  // of the record's header; in a compressed file, in the unpacked data
  uint64_t length = 0;  // with its header and trailer
};

// What was skipped after errors.
struct Lost {
  uint64_t records = 0;       // known to have been records
  uint64_t bytes = 0;         // in a compressed file only what was unpacked
  bool rest_of_file = false;  // the number of records in the last bytes is unknown
};

class TfRecordReader {
 public:
  // More than TensorFlow's own writer can put into an Example.
  static constexpr uint64_t kMaxRecordBytes = uint64_t{2} << 30;

  static Result<TfRecordReader> Open(const std::string& path, const ReadOptions& options = {});
  static Result<TfRecordReader> Over(std::unique_ptr<ByteSource> source,
                                     const ReadOptions& options = {});

  // True where the first 12 bytes are a length and its CRC.
  static bool LooksLikeRecord(ByteView first_bytes);

  // The next record; nothing at the end of the file. After an error, can_continue() says whether
  // another call returns the record after the bad one: a bad payload still has a valid length, but
  // after a bad length nothing can be found, and every later call returns nothing at once.
  Result<std::optional<Record>> Next();
  bool can_continue() const { return !lost_.rest_of_file; }
  const Lost& lost() const { return lost_; }

  // In the file on disk, or in the unpacked data.
  uint64_t offset() const { return window_.offset(); }
  uint64_t records() const { return index_; }
  bool compressed() const { return window_.source().compressed(); }
  const std::string& path() const { return window_.source().name(); }

 private:
  TfRecordReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : window_(std::move(source), options.block_bytes) {}
  Error At(std::string what, std::string hint) const;
  Error LoseTheRest(std::string what, std::string hint);
  Status Fill(size_t size);
  Result<std::optional<uint64_t>> NextLength();

  Window window_;
  size_t pending_ = 0;  // bytes of the last returned record, skipped by the next call
  uint64_t index_ = 0;
  Lost lost_;
};

class TfRecordWriter {
 public:
  // `ops` must outlive the writer.
  static Result<TfRecordWriter> Create(const std::string& path,
                                       Compression compression = Compression::kNone,
                                       FileOps& ops = FileOps::Kernel());
  // Into a file that others may replace by their own rules.
  static Result<TfRecordWriter> Into(OutputFile file, Compression compression = Compression::kNone);
  TfRecordWriter(TfRecordWriter&&) noexcept;
  TfRecordWriter& operator=(TfRecordWriter&&) noexcept;
  ~TfRecordWriter();

  Status Write(ByteView payload);
  // Publishes the file; until the writer is destroyed no other process can replace it.
  Status Finish();
  uint64_t records() const { return records_; }

 private:
  class Deflater;
  TfRecordWriter(OutputFile file, std::unique_ptr<Deflater> deflater);
  Status Put(ByteView bytes);
  Status Flush();

  OutputFile file_;
  std::unique_ptr<Deflater> deflater_;  // null where nothing is packed
  Buffer buffer_;
  uint64_t records_ = 0;
};

}  // namespace stallscope::data
