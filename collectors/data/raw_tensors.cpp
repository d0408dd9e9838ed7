#include "collectors/data/raw_tensors.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {
namespace {

constexpr std::string_view kMagic("STRAWT1\0", 8);
constexpr size_t kHeaderSize = 128;
constexpr size_t kCrcAt = kHeaderSize - 4;
constexpr size_t kRecordHeaderSize = 64;

constexpr uint64_t Padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

bool LooksLikeRawTensors(ByteView first_bytes) { return AsText(first_bytes).starts_with(kMagic); }

Result<RawTensorReader> RawTensorReader::Open(const std::string& path, const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto file, OpenFileSource(path, options));
  return Over(std::move(file), options);
}

Result<RawTensorReader> RawTensorReader::Over(std::unique_ptr<ByteSource> source,
                                              const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto plain, Unpacked(std::move(source), &LooksLikeRawTensors));
  RawTensorReader reader(std::move(plain), options);
  STALLSCOPE_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

Error RawTensorReader::At(std::string what) const {
  return Error{ErrorKind::kRun, std::move(what), Describe({path(), window_.offset(), index_}),
               "copy or write the file again"};
}

Status RawTensorReader::ReadHeader() {
  STALLSCOPE_RETURN_IF_ERROR(window_.Fill(kHeaderSize));
  const ByteView header = window_.view();
  if (!LooksLikeRawTensors(header)) return At("not a file of raw tensors");
  if (header.size() < kHeaderSize) return At("the file ends inside its header");
  if (Crc32c(header.first(kCrcAt)) != ValueAt<uint32_t>(header, kCrcAt)) {
    return At("the CRC of the header is wrong");
  }
  const uint8_t dtype = header[8];
  const uint8_t rank = header[9];
  std::array<int64_t, Shape::kMaxRank> dims;
  std::memcpy(dims.data(), header.data() + 16, sizeof dims);
  if (dtype < static_cast<uint8_t>(DType::kUint8) ||
      dtype > static_cast<uint8_t>(DType::kFloat64) || rank > Shape::kMaxRank) {
    return At(fmt::format("the header has the invalid dtype {} or rank {}", dtype, rank));
  }
  dtype_ = static_cast<DType>(dtype);
  const auto bytes = CheckedBytes(dtype_, {dims.data(), rank});
  if (!bytes.has_value() || *bytes > kMaxTensorBytes) {
    return At(fmt::format("the header claims tensors of more than {} bytes", kMaxTensorBytes));
  }
  shape_ = Shape::Of({dims.data(), rank});
  bytes_ = *bytes;
  window_.Pass(kHeaderSize);
  return {};
}

Result<std::optional<RawRecord>> RawTensorReader::Next(Tensor& into) {
  if (stuck_) return std::optional<RawRecord>();
  const size_t whole = kRecordHeaderSize + static_cast<size_t>(Padded(bytes_));
  const Status filled = window_.Fill(whole);
  stuck_ = !filled.ok() || window_.view().size() < whole;
  if (!filled.ok()) return filled.error();
  if (window_.view().empty()) return std::optional<RawRecord>();
  if (stuck_) return At(fmt::format("the file ends inside a record of {} bytes", whole));
  const ByteView record = window_.view().first(whole);
  const ByteView tensor = record.subspan(kRecordHeaderSize, static_cast<size_t>(bytes_));
  if (Crc32c(tensor) != ValueAt<uint32_t>(record, 8)) {
    Error error = At("the CRC of the tensor is wrong");
    window_.Pass(whole);
    ++index_;
    return error;
  }
  if (!into.TryReset(dtype_, shape_)) return At("out of memory for the tensor");
  if (!tensor.empty()) std::memcpy(into.data(), tensor.data(), tensor.size());
  const RawRecord result{ValueAt<int64_t>(record, 0), index_++, window_.offset(), whole};
  window_.Pass(whole);
  return std::optional<RawRecord>(result);
}

Result<RawTensorWriter> RawTensorWriter::Create(const std::string& path, DType dtype,
                                                const Shape& shape, FileOps& ops) {
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, Over::kNoInput, ops));
  uint8_t header[kHeaderSize] = {};
  std::memcpy(header, kMagic.data(), kMagic.size());
  header[8] = static_cast<uint8_t>(dtype);
  header[9] = static_cast<uint8_t>(shape.rank());
  if (shape.rank() > 0)
    std::memcpy(header + 16, shape.dims().data(), shape.rank() * sizeof(int64_t));
  const uint32_t crc = Crc32c({header, kCrcAt});
  std::memcpy(header + kCrcAt, &crc, sizeof crc);
  STALLSCOPE_RETURN_IF_ERROR(file.Append(AsText(header)));
  STALLSCOPE_RETURN_IF_ERROR(file.Publish());
  return RawTensorWriter(std::move(file), dtype, shape);
}

Status RawTensorWriter::Write(const Tensor& tensor, int64_t label) {
  if (tensor.dtype() != dtype_ || tensor.shape() != shape_) {
    return Error{
        ErrorKind::kRun,
        fmt::format("a {} tensor of {} does not fit a file of {} of {}", Name(tensor.dtype()),
                    tensor.shape().ToString(), Name(dtype_), shape_.ToString()),
        file_.path(), "give all elements the same shape first"};
  }
  record_.Resize(kRecordHeaderSize + static_cast<size_t>(Padded(tensor.bytes())));
  std::memset(record_.data(), 0, kRecordHeaderSize);
  std::memcpy(record_.data(), &label, sizeof label);
  const uint32_t crc = Crc32c(tensor.view());
  std::memcpy(record_.data() + 8, &crc, sizeof crc);
  uint8_t* const at = record_.data() + kRecordHeaderSize;
  if (tensor.bytes() > 0) std::memcpy(at, tensor.data(), tensor.bytes());
  std::memset(at + tensor.bytes(), 0, record_.size() - kRecordHeaderSize - tensor.bytes());
  return file_.Append(AsText(record_));
}

}  // namespace stallscope::data
