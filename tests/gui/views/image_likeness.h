// Whether two pictures show the same: compared small, so that a golden picture is small too and a
// letter that moved by a fraction of a pixel does not matter, while one that is missing does.
#pragma once

#include <string>

#include "analyzer/base/result.h"
#include "gui/raster/image.h"

namespace stallscope::test {

// Each pixel the mean of `times` x `times` pixels.
raster::Image Smaller(const raster::Image& image, int times);

Result<raster::Image> ReadPicture(const std::string& path);

struct Difference {
  double mean = 0;  // of all channels of all pixels, 0 to 255
  int worst = 0;    // of one pixel
  double far = 0;   // part of the pixels that differ by more than 24
};
// Of two images of the same size.
Difference Compare(const raster::Image& a, const raster::Image& b);

}  // namespace stallscope::test
