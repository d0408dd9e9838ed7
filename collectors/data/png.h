// PNG to RGB and back.
//
// Palettes, grayscale, 16 bits, transparency and interlacing all become 8-bit RGB: alpha is
// dropped, not blended, and gamma is not applied, as in TensorFlow's decode_png(channels=3). Limits
// hold before memory is spent. Any thread.
#pragma once

#include <cstdint>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/image.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

bool LooksLikePng(ByteView first_bytes);

struct PngHeader {
  uint32_t width = 0;
  uint32_t height = 0;
};
Result<PngHeader> ReadPngHeader(ByteView png);

// Gives `into` the shape height x width x 3 of uint8. The error's `where` is a place in the PNG.
Status DecodePng(ByteView png, const ImageLimits& limits, Tensor& into);

// `image` is height x width x 3 (or x 1, grayscale) of uint8. Replaces what `into` holds.
Status EncodePng(const Tensor& image, Buffer& into);

}  // namespace stallscope::data
