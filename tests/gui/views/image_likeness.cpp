#include "tests/gui/views/image_likeness.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "analyzer/base/file.h"
#include "collectors/data/png.h"

namespace stallscope::test {
namespace {

constexpr int kFar = 24;

int Channel(uint32_t pixel, int channel) { return static_cast<int>(pixel >> (8 * channel) & 255); }

}  // namespace

raster::Image Smaller(const raster::Image& image, int times) {
  raster::Image small(image.width / times, image.height / times, 0);
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      std::array<int, 3> sums{};
      for (int i = 0; i < times * times; ++i) {
        const uint32_t pixel = image.At(x * times + i % times, y * times + i / times);
        for (int channel = 0; channel < 3; ++channel) {
          sums[static_cast<size_t>(channel)] += Channel(pixel, channel);
        }
      }
      uint32_t mean = 0xFF000000;
      for (size_t channel = 0; channel < 3; ++channel) {
        mean |= static_cast<uint32_t>(sums[channel] / (times * times)) << (8 * channel);
      }
      small.At(x, y) = mean;
    }
  }
  return small;
}

Result<raster::Image> ReadPicture(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string png, ReadWholeFile(path, 1 << 24));
  data::Tensor tensor;
  STALLSCOPE_RETURN_IF_ERROR(data::DecodePng(data::AsBytes(png), {}, tensor));
  raster::Image image(static_cast<int>(tensor.shape()[1]), static_cast<int>(tensor.shape()[0]), 0);
  const uint8_t* at = tensor.data();
  for (uint32_t& pixel : image.pixels) {
    pixel = IM_COL32(at[0], at[1], at[2], 255);
    at += 3;
  }
  return image;
}

Difference Compare(const raster::Image& a, const raster::Image& b) {
  Difference difference;
  double sum = 0;
  size_t far = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    int worst = 0;
    for (int channel = 0; channel < 3; ++channel) {
      const int off = std::abs(Channel(a.pixels[i], channel) - Channel(b.pixels[i], channel));
      sum += off;
      worst = std::max(worst, off);
    }
    difference.worst = std::max(difference.worst, worst);
    far += worst > kFar ? 1 : 0;
  }
  const auto pixels = static_cast<double>(std::max<size_t>(1, a.pixels.size()));
  difference.mean = sum / (3 * pixels);
  difference.far = static_cast<double>(far) / pixels;
  return difference;
}

}  // namespace stallscope::test
