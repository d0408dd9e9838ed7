// The only file that calls libyuv. Its "RGB24" is three bytes and its "ARGB" four, in any order:
// scaling treats all channels alike, so RGB stays RGB.
#include "collectors/data/resize.h"

#include <fmt/format.h>
#include <libyuv.h>

#include <algorithm>
#include <cstring>

namespace stallscope::data {
namespace {

Error NotAnImage(const Tensor& tensor) {
  return Error{
      ErrorKind::kRun,
      fmt::format("a {} tensor of {} is no image", Name(tensor.dtype()), tensor.shape().ToString()),
      "", "height x width x 3 of uint8 is: decode first"};
}

Status CheckImage(const Tensor& tensor, const Rect& from) {
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != DType::kUint8 || shape.rank() != 3 || shape[2] != 3) {
    return NotAnImage(tensor);
  }
  if (!Contains(static_cast<int>(shape[1]), static_cast<int>(shape[0]), from)) {
    return Error{ErrorKind::kRun,
                 fmt::format("the crop {}x{} at {},{} does not lie in the image of {}x{}",
                             from.width, from.height, from.x, from.y, shape[1], shape[0]),
                 "", "crop less, or resize first"};
  }
  return {};
}

const uint8_t* PixelAt(const Tensor& image, int x, int y) {
  return image.data() + (static_cast<int64_t>(y) * image.shape()[1] + x) * 3;
}

Error NoMemory() { return Error{ErrorKind::kRun, "no memory for the image", "", ""}; }

}  // namespace

Status Resizer::Resize(const Tensor& image, const Rect& from, int height, int width, Tensor& into) {
  STALLSCOPE_RETURN_IF_ERROR(CheckImage(image, from));
  const ImageLimits limits;
  STALLSCOPE_RETURN_IF_ERROR(CheckImageSize("the resized image",
                                            static_cast<uint32_t>(std::max(width, 0)),
                                            static_cast<uint32_t>(std::max(height, 0)), limits));
  const auto from_pixels = static_cast<size_t>(from.width) * static_cast<size_t>(from.height);
  const auto to_pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  if (!source_.TryResize(from_pixels * 4) || !scaled_.TryResize(to_pixels * 4) ||
      !into.TryReset(DType::kUint8, {height, width, 3})) {
    return NoMemory();
  }
  libyuv::RGB24ToARGB(PixelAt(image, from.x, from.y), static_cast<int>(image.shape()[1]) * 3,
                      source_.data(), from.width * 4, from.width, from.height);
  if (libyuv::ARGBScale(source_.data(), from.width * 4, from.width, from.height, scaled_.data(),
                        width * 4, width, height, libyuv::kFilterBilinear) != 0) {
    return NoMemory();
  }
  libyuv::ARGBToRGB24(scaled_.data(), width * 4, into.data(), width * 3, width, height);
  return {};
}

Status Crop(const Tensor& image, const Rect& from, Tensor& into) {
  STALLSCOPE_RETURN_IF_ERROR(CheckImage(image, from));
  if (!into.TryReset(DType::kUint8, {from.height, from.width, 3})) return NoMemory();
  const auto stride = static_cast<size_t>(from.width) * 3;
  for (int y = 0; y < from.height; ++y) {
    std::memcpy(into.data() + static_cast<size_t>(y) * stride, PixelAt(image, from.x, from.y + y),
                stride);
  }
  return {};
}

Status Mirror(Tensor& image) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kUint8 || shape.rank() != 3 || shape[2] != 3) {
    return NotAnImage(image);
  }
  // libyuv has no mirror in place, and this one is a fraction of a resize.
  for (int64_t y = 0; y < shape[0]; ++y) {
    uint8_t* left = image.data() + y * shape[1] * 3;
    uint8_t* right = left + (shape[1] - 1) * 3;
    for (; left < right; left += 3, right -= 3) {
      std::swap(left[0], right[0]);
      std::swap(left[1], right[1]);
      std::swap(left[2], right[2]);
    }
  }
  return {};
}

NormalizeBy NormalizeBy::MeanAndDeviation(const std::array<float, 3>& mean,
                                          const std::array<float, 3>& deviation) {
  NormalizeBy by;
  for (size_t c = 0; c < 3; ++c) {
    by.scale[c] = 1.0f / (255.0f * deviation[c]);
    by.offset[c] = -mean[c] / deviation[c];
  }
  return by;
}

NormalizeBy ImageNetNormalization() {
  return NormalizeBy::MeanAndDeviation({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});
}

Status Normalize(const Tensor& image, const NormalizeBy& by, Tensor& into) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kUint8 || shape.rank() == 0 || shape[shape.rank() - 1] != 3) {
    return NotAnImage(image);
  }
  if (!into.TryReset(DType::kFloat32, shape)) return NoMemory();
  const uint8_t* from = image.data();
  float* to = into.Values<float>().data();
  const size_t values = image.bytes();
  // Twelve at a time: four pixels, so that the channels' constants lie the same way in each piece
  // and the compiler makes vectors of them.
  std::array<float, 12> scale;
  std::array<float, 12> offset;
  for (size_t i = 0; i < 12; ++i) {
    scale[i] = by.scale[i % 3];
    offset[i] = by.offset[i % 3];
  }
  size_t at = 0;
  for (; at + 12 <= values; at += 12) {
    for (size_t i = 0; i < 12; ++i) {
      to[at + i] = static_cast<float>(from[at + i]) * scale[i] + offset[i];
    }
  }
  for (; at < values; ++at) {
    to[at] = static_cast<float>(from[at]) * by.scale[at % 3] + by.offset[at % 3];
  }
  return {};
}

}  // namespace stallscope::data
