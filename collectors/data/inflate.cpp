// zlib's side of byte_source.h: gzip and zlib streams, unpacked as they are read.
#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

#include "collectors/data/byte_source.h"

namespace stallscope::data {
namespace {

class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, Compression compression)
      : ByteSource(packed->name()), packed_(std::move(packed)), compression_(compression) {}
  ~InflateSource() override {
    if (started_) inflateEnd(&stream_);
  }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  Result<size_t> Read(uint8_t* into, size_t size) override;
  std::optional<uint64_t> TotalBytes() const override { return std::nullopt; }
  uint64_t PackedBytesRead() const override { return packed_->PackedBytesRead(); }
  bool compressed() const override { return true; }

 private:
  static constexpr size_t kPackedBlock = size_t{128} << 10;

  Status Start();
  Result<bool> Refill();  // false at the end of the packed bytes
  Error Damaged(const char* what) const;

  std::unique_ptr<ByteSource> packed_;
  Compression compression_;
  Buffer block_;
  z_stream stream_{};
  bool started_ = false;
  bool ended_ = false;       // a stream is complete and the next, if any, has not begun
  uint64_t packed_end_ = 0;  // how many packed bytes have been read
};

Error InflateSource::Damaged(const char* what) const {
  const char* kind = compression_ == Compression::kGzip ? "gzip" : "zlib";
  return Error{ErrorKind::kRun, std::string("the ") + kind + " data " + what,
               name() + ", packed offset " + std::to_string(packed_end_ - stream_.avail_in),
               "copy or write the file again"};
}

Status InflateSource::Start() {
  block_.Resize(kPackedBlock);
  const int window = compression_ == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
  if (inflateInit2(&stream_, window) != Z_OK) {
    return Error{ErrorKind::kRun, "zlib cannot start: no memory", name(), ""};
  }
  started_ = true;
  return {};
}

Result<bool> InflateSource::Refill() {
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, packed_->Read(block_.data(), kPackedBlock));
  packed_end_ += got;
  stream_.next_in = block_.data();
  stream_.avail_in = static_cast<uInt>(got);
  return got > 0;
}

Result<size_t> InflateSource::Read(uint8_t* into, size_t size) {
  if (!started_) STALLSCOPE_RETURN_IF_ERROR(Start());
  stream_.next_out = into;
  stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, size_t{1} << 30));
  const uInt wanted = stream_.avail_out;
  while (stream_.avail_out == wanted) {
    if (stream_.avail_in == 0) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more && ended_) break;
      if (!more) return Damaged("breaks off");
    }
    if (ended_) {
      // gzip files may be joined end to end; behind zlib data there is nothing.
      if (compression_ == Compression::kZlib) return Damaged("goes on behind its end");
      if (inflateReset(&stream_) != Z_OK) return Damaged("cannot be read on");
      ended_ = false;
    }
    const int state = inflate(&stream_, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
      ended_ = true;
    } else if (state == Z_MEM_ERROR) {
      return Error{ErrorKind::kRun, "zlib has no memory", name(), ""};
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      return Damaged("is damaged");
    }
  }
  return static_cast<size_t>(wanted - stream_.avail_out);
}

}  // namespace

std::unique_ptr<ByteSource> OpenInflateSource(std::unique_ptr<ByteSource> packed,
                                              Compression compression) {
  return std::make_unique<InflateSource>(std::move(packed), compression);
}

}  // namespace stallscope::data
