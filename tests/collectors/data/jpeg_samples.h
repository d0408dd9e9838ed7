// JPEGs of every kind that the library writes, straight from libjpeg: the encoder under test writes
// only two of them.
#pragma once

#include <string>

#include "collectors/data/tensor.h"

namespace stallscope::test {

enum class JpegColor { kYcc, kRgb, kGray, kCmykAdobe, kCmykPlain, kYcck };

struct JpegSample {
  int width = 64;
  int height = 48;
  JpegColor color = JpegColor::kYcc;
  int h = 2;  // luma's sampling factors
  int v = 2;
  bool progressive = false;
  bool arithmetic = false;
  int restart_rows = 0;
  int quality = 95;
  std::string exif = {};  // an APP1 segment's content; empty for none
};

// A smooth picture with one sharp edge: survives any subsampling within a few steps.
data::Tensor SmoothPicture(int width, int height);

// SmoothPicture as a JPEG of this kind.
std::string EncodeSample(const JpegSample& sample);

// An APP1 segment that holds nothing but the orientation.
std::string ExifWithOrientation(int orientation, bool little_endian);

}  // namespace stallscope::test
