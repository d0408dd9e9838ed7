// Writes TFRecord files, plain or packed as a whole with gzip or zlib, as TensorFlow does.
//
// Finish must be called: without it there is no file. One thread at a time.
#ifndef STALLSCOPE_COLLECTORS_DATA_TFRECORD_WRITER_H_
#define STALLSCOPE_COLLECTORS_DATA_TFRECORD_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {

class TfRecordWriter {
 public:
  // `ops` must outlive the writer.
  static Result<TfRecordWriter> Create(const std::string& path,
                                       Compression compression = Compression::kNone,
                                       FileOps& ops = FileOps::Kernel());
  // A file that others may replace by rules of their own.
  static Result<TfRecordWriter> Into(OutputFile file, Compression compression = Compression::kNone);
  TfRecordWriter(TfRecordWriter&&) noexcept;
  TfRecordWriter& operator=(TfRecordWriter&&) noexcept;
  ~TfRecordWriter();

  Status Write(ByteView payload);
  // Publishes the file; until the writer goes no other process can replace it.
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

#endif  // STALLSCOPE_COLLECTORS_DATA_TFRECORD_WRITER_H_
