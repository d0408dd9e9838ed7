// Raw tensors: elements of one dtype and shape, as they are in memory. For a snapshot of an
// expensive prefix, and to see how a pipeline behaves that decodes nothing.
//
//   header  128 bytes   "STRAWT1\0" | u8 dtype | u8 rank | u16 0 | u32 0 | 8 x i64 dimensions
//                       (0 past the rank) | zeros | u32 CRC32C of the 124 bytes before
//   record              i64 label | u32 CRC32C of the tensor's bytes | zeros up to 64 bytes,
//                       then the tensor's bytes, padded with zeros to a multiple of 64
//
// Little endian. Tensors begin at multiples of 64 bytes. The count is not stored: a file that ends
// between records is whole. The file may be packed with gzip or zlib. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "collectors/data/byte_source.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

bool LooksLikeRawTensors(ByteView first_bytes);

struct RawRecord {
  int64_t label = 0;
  uint64_t index = 0;   // counted from 0
  uint64_t offset = 0;  // of the record; in a packed file, in the unpacked data
  uint64_t length = 0;  // with its label and padding
};

class RawTensorReader {
 public:
  static constexpr uint64_t kMaxTensorBytes = uint64_t{2} << 30;

  static Result<RawTensorReader> Open(const std::string& path, const ReadOptions& options = {});
  static Result<RawTensorReader> Over(std::unique_ptr<ByteSource> source,
                                      const ReadOptions& options = {});

  // The next tensor, copied into `into`; nothing at the end. A bad CRC costs that record, and the
  // next call continues after it; a truncated file ends there.
  Result<std::optional<RawRecord>> Next(Tensor& into);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const std::string& path() const { return window_.source().name(); }

 private:
  RawTensorReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : window_(std::move(source), options.block_bytes) {}
  Status ReadHeader();
  Error At(std::string what) const;

  Window window_;
  DType dtype_ = DType::kUint8;
  Shape shape_;
  uint64_t bytes_ = 0;
  uint64_t index_ = 0;
  bool stuck_ = false;
};

class RawTensorWriter {
 public:
  static Result<RawTensorWriter> Create(const std::string& path, DType dtype, const Shape& shape,
                                        FileOps& ops = FileOps::Kernel());
  // The file is visible immediately. A tensor of another dtype or shape is an error. Each record is
  // written immediately.
  Status Write(const Tensor& tensor, int64_t label);

 private:
  RawTensorWriter(OutputFile file, DType dtype, const Shape& shape)
      : file_(std::move(file)), dtype_(dtype), shape_(shape) {}

  OutputFile file_;
  DType dtype_;
  Shape shape_;
  Buffer record_;
};

}  // namespace stallscope::data
