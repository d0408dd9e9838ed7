// Crop, resize, mirror and normalise images, by libyuv: 10,000 images/s of 224x224 on a core, where
// a plain loop does 1,300.
//
// What is resized is height x width x 3 of uint8, as the decoders give it. The library scales
// pixels of four bytes; the images in between lie in the object, which is one reason to reuse it.
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

// The part as it is. Any dtype and number of channels.
Status Crop(const Tensor& image, const Rect& from, Tensor& into);

// Left to right, in place. Any dtype and number of channels.
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
// `image`, of uint8 or float32, may have any rank; its last dimension is 3. `into` must be another
// tensor.
Status Normalize(const Tensor& image, const NormalizeBy& by, Tensor& into);
// The same for values in memory, `count` of them from the first channel on. T: uint8_t or float.
template <class T>
void NormalizeValues(const T* from, size_t count, const NormalizeBy& by, float* to);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_RESIZE_H_
