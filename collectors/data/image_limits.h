// What an image may claim to be before memory is spent on it, shared by JPEG and PNG.
#ifndef STALLSCOPE_COLLECTORS_DATA_IMAGE_LIMITS_H_
#define STALLSCOPE_COLLECTORS_DATA_IMAGE_LIMITS_H_

#include <cstdint>

#include "analyzer/base/result.h"

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

// True where `rect` has an area and lies within width x height.
bool Contains(int width, int height, const Rect& rect);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_IMAGE_LIMITS_H_
