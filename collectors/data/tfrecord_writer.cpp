#include "collectors/data/tfrecord_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectors/data/checksum.h"

namespace stallscope::data {
namespace {
constexpr size_t kFlushBytes = size_t{1} << 20;
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
  // Packs `bytes` and appends what comes out; everything where `last`.
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
      return Error{ErrorKind::kRun, "zlib cannot start: no memory", file.path(), ""};
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
