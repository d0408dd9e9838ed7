#include "collectors/data/image_limits.h"

#include <fmt/format.h>

namespace stallscope::data {

Status CheckImageSize(const char* kind, uint32_t width, uint32_t height,
                      const ImageLimits& limits) {
  if (width == 0 || height == 0) {
    return Error{ErrorKind::kRun, fmt::format("{} says that it is {}x{}", kind, width, height), "",
                 "write the image again"};
  }
  if (width > limits.max_dimension || height > limits.max_dimension ||
      uint64_t{width} * height > limits.max_pixels) {
    return Error{ErrorKind::kRun,
                 fmt::format("{} says that it is {}x{}: more than the limit of {} pixels", kind,
                             width, height, limits.max_pixels),
                 "", "make the image smaller"};
  }
  return {};
}

bool Contains(int width, int height, const Rect& rect) {
  return rect.x >= 0 && rect.y >= 0 && rect.width > 0 && rect.height > 0 && rect.x <= width &&
         rect.y <= height && rect.width <= width - rect.x && rect.height <= height - rect.y;
}

}  // namespace stallscope::data
