// Images: what one may claim to be before memory is spent on it; crop, resize, mirror and
// normalize.
//
// libyuv resizes 10,000 images/s to 224x224 on a core, where a plain loop does 1,300. It scales
// pixels of four bytes, so a Resizer keeps the images in between: reuse it, one per thread.
#pragma once

#include <array>
#include <cstdint>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct ImageLimits {
  uint32_t max_dimension = 65500;           // libjpeg's own
  uint64_t max_pixels = uint64_t{1} << 26;  // 67 million: 200 MB of RGB
  int max_scans = 200;                      // of a progressive JPEG; real ones have about 10
};

// A part of an image, in pixels.
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const Rect&) const = default;
};

// `kind` begins the error: "the JPEG".
Status CheckImageSize(const char* kind, uint32_t width, uint32_t height, const ImageLimits& limits);

// An image of that size whose `bytes` are too few for it.
Error TooFewBytes(const char* kind, uint32_t width, uint32_t height, size_t bytes);

// An error unless `rect` has an area and lies within width x height.
Status CheckCrop(int64_t width, int64_t height, const Rect& rect);

// An error unless `image` is height x width x 3 (or x 1, grayscale) of uint8, up to `most` pixels a
// side. `kind` ends the error: "JPEG".
Status CheckEncodable(const Tensor& image, int64_t most, const char* kind);

// Resizes height x width x 3 of uint8, as the decoders give it.
class Resizer {
 public:
  // The part `from` of `image`, scaled to height x width: bilinear, also where it shrinks to less
  // than half, as tf.image.resize does. (The library's box filter samples the upper left corner of
  // each box instead of averaging it, unless the factor is even.) `into` must be another tensor.
  Status Resize(const Tensor& image, const Rect& from, int height, int width, Tensor& into);

 private:
  Buffer source_;
  Buffer scaled_;
};

// Copies the part unscaled. Any dtype and number of channels.
Status Crop(const Tensor& image, const Rect& from, Tensor& into);

// Left to right, in place. Any dtype and number of channels.
Status Mirror(Tensor& image);
// The same for one image of a batch.
Status Mirror(Tensor& batch, int64_t image);

// (value / 255 - mean) / deviation of each channel, as float32 of the same shape. `scale` and
// `offset` of NormalizeBy: value * scale + offset.
struct NormalizeBy {
  std::array<float, 3> scale;
  std::array<float, 3> offset;
  static NormalizeBy MeanAndDeviation(const std::array<float, 3>& mean,
                                      const std::array<float, 3>& deviation);
};
// ImageNet's usual figures.
NormalizeBy ImageNetNormalization();
// `image`, of uint8 or float32, may have any rank; its last dimension is 3. `into` must be another
// tensor.
Status Normalize(const Tensor& image, const NormalizeBy& by, Tensor& into);
// The same for values in memory, `count` of them from the first channel on. T: uint8_t or float.
template <class T>
void NormalizeValues(const T* from, size_t count, const NormalizeBy& by, float* to);

}  // namespace stallscope::data
