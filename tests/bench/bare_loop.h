// The minimum cost of decoding, cropping, resizing and normalizing: libjpeg-turbo, libyuv
// and one loop, with nothing around them. What the pipeline's rate is measured against.
#pragma once

#include <cstdint>
#include <memory>

#include "collectors/data/buffer.h"
#include "collectors/data/image.h"

namespace stallscope::bench {

// Pixels of three bytes are what a program gets that decodes, then resizes; with four the picture
// goes straight to the resizer, the fastest that these libraries can do.
enum class PixelBytes { kThree = 3, kFour = 4 };

// One thread's.
class BareLoop {
 public:
  explicit BareLoop(PixelBytes pixel_bytes);
  ~BareLoop();
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  // The part of the JPEG, resized to side x side, as floats of ImageNet's normalization. Ends the
  // program if the JPEG is corrupt. Valid until the next call.
  const float* Run(data::ByteView jpeg, const data::Rect& part, int side);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stallscope::bench
