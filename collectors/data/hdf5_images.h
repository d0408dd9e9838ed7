// Images and labels as two data sets of an HDF5 file.
//
//   /images  uint8 [N, height, width, 3]; also [N, height, width, 1] and [N, height, width], gray
//   /labels  any integer type [N] or [N, 1]
//
// Chunked, contiguous or compressed, as the library reads it. The library serves one thread at a
// time: every call here takes one lock for the whole process, and that is the price of the format.
// An object may be used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/byte_source.h"
#include "collectors/data/image.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct Hdf5File;  // the library's handles

struct Hdf5Names {
  std::string images = "images";
  std::string labels = "labels";
};

class Hdf5ImageReader {
 public:
  static Result<Hdf5ImageReader> Open(const std::string& path, const Hdf5Names& names = {},
                                      const ReadOptions& options = {},
                                      const ImageLimits& limits = {});
  Hdf5ImageReader(Hdf5ImageReader&&) noexcept;
  Hdf5ImageReader& operator=(Hdf5ImageReader&&) noexcept;
  ~Hdf5ImageReader();

  int64_t count() const { return count_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  const std::string& path() const { return path_; }

  // Images `first` to `first` + `count` - 1, which must be there: `images` becomes count x height x
  // width x 3 of uint8, `labels` as long.
  Status Read(int64_t first, int64_t count, Tensor& images, std::vector<int64_t>& labels);

 private:
  Hdf5ImageReader(std::unique_ptr<Hdf5File> file, std::string path, const ReadOptions& options);
  Status CheckShapes(const Hdf5Names& names, const ImageLimits& limits);

  std::unique_ptr<Hdf5File> file_;
  std::string path_;
  ReadOptions options_;
  int64_t count_ = 0;
  int64_t height_ = 0;
  int64_t width_ = 0;
  int64_t channels_ = 3;
};

// Writes such a file, one chunk per image. The same images give the same bytes: no time is stored.
class Hdf5ImageWriter {
 public:
  // A file that exists is an error.
  static Result<Hdf5ImageWriter> Create(const std::string& path, int64_t count, int64_t height,
                                        int64_t width);
  Hdf5ImageWriter(Hdf5ImageWriter&&) noexcept;
  Hdf5ImageWriter& operator=(Hdf5ImageWriter&&) noexcept;
  ~Hdf5ImageWriter();

  // The next image; one of another shape, or one too many, is an error.
  Status Write(const Tensor& image, int64_t label);
  // Must be called: writes the labels and closes the file.
  Status Finish();

 private:
  Hdf5ImageWriter(std::unique_ptr<Hdf5File> file, std::string path, const Shape& shape,
                  int64_t count);

  std::unique_ptr<Hdf5File> file_;
  std::string path_;
  Shape shape_;
  int64_t count_ = 0;
  std::vector<int64_t> labels_;
};

}  // namespace stallscope::data
