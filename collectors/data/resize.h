// Crop, resize, mirror and normalise images, by libyuv: 10,000 images/s of 224x224 on a core, where
// a plain loop does 1,300.
//
// Images are height x width x 3 of uint8, as the decoders give them. The library scales pixels of
// four bytes; the images in between lie in the object, which is one reason to reuse it.
// One object a thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_RESIZE_H_
#define STALLSCOPE_COLLECTORS_DATA_RESIZE_H_

#include <array>
#include <cstdint>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/image_limits.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

class Resizer {
 public:
  // The part `from` of `image`, scaled to height x width: bilinear, also where it shrinks to less
  // than half, as tf.image.resize does. (The library's box filter samples the left upper corner of
  // each box instead of averaging it, unless the factor is even.) `into` must be another tensor.
  Status Resize(const Tensor& image, const Rect& from, int height, int width, Tensor& into);

 private:
  Buffer source_;
  Buffer scaled_;
};

// The part as it is.
Status Crop(const Tensor& image, const Rect& from, Tensor& into);

// Left to right, in place.
Status Mirror(Tensor& image);

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
// `image` may have any rank; its last dimension is 3. `into` must be another tensor.
Status Normalize(const Tensor& image, const NormalizeBy& by, Tensor& into);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_RESIZE_H_
