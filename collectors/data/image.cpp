// The only file that calls libyuv. Its "RGB24" is three bytes and its "ARGB" four, in any order:
// scaling treats all channels alike, so RGB stays RGB.
#include "collectors/data/image.h"

#include <fmt/format.h>
#include <libyuv.h>

#include <algorithm>
#include <cstring>

namespace stallscope::data {
namespace {

Error NotAnImage(const Tensor& tensor) {
  return Error{ErrorKind::kRun,
               fmt::format("a {} tensor of {} is not an image", Name(tensor.dtype()),
                           tensor.shape().ToString()),
               "", "an image is height x width x 3 of uint8: decode first"};
}

size_t PixelBytes(const Tensor& image) {
  return static_cast<size_t>(image.shape()[2]) * SizeOf(image.dtype());
}

const uint8_t* PixelAt(const Tensor& image, int x, int y) {
  return image.data() +
         static_cast<size_t>(static_cast<int64_t>(y) * image.shape()[1] + x) * PixelBytes(image);
}

Error NoMemory() { return Error{ErrorKind::kRun, "out of memory for the image", "", ""}; }

// The library cannot mirror in place: each line goes through this one, which stays in the L1 cache.
constexpr int kMirrorPixels = 4096;

void MirrorRgbLines(uint8_t* data, int height, int width) {
  std::array<uint8_t, size_t{kMirrorPixels} * 3> line;
  const auto bytes = static_cast<size_t>(width) * 3;
  for (int y = 0; y < height; ++y, data += bytes) {
    libyuv::RGB24Mirror(data, width * 3, line.data(), width * 3, width, 1);
    std::memcpy(data, line.data(), bytes);
  }
}

// A pixel's bytes as one value, so that a swap of two is a few instructions.
template <size_t kBytes>
void MirrorLines(uint8_t* data, int64_t height, int64_t width) {
  using Pixel = std::array<uint8_t, kBytes>;
  auto* line = reinterpret_cast<Pixel*>(data);
  for (int64_t y = 0; y < height; ++y, line += width) std::reverse(line, line + width);
}

// False if the pixels have a size that no image has.
bool MirrorAt(uint8_t* data, DType dtype, int64_t height, int64_t width, int64_t channels) {
  switch (static_cast<size_t>(channels) * SizeOf(dtype)) {
    case 1:
      MirrorLines<1>(data, height, width);
      return true;
    case 3:
      if (width <= kMirrorPixels && dtype == DType::kUint8) {
        MirrorRgbLines(data, static_cast<int>(height), static_cast<int>(width));
      } else {
        MirrorLines<3>(data, height, width);
      }
      return true;
    case 4:
      MirrorLines<4>(data, height, width);
      return true;
    case 6:
      MirrorLines<6>(data, height, width);
      return true;
    case 12:
      MirrorLines<12>(data, height, width);
      return true;
    default:
      return false;
  }
}

}  // namespace

Status CheckImageSize(const char* kind, uint32_t width, uint32_t height,
                      const ImageLimits& limits) {
  if (width == 0 || height == 0) {
    return Error{ErrorKind::kRun, fmt::format("{} claims to be {}x{}", kind, width, height), "",
                 "write the image again"};
  }
  if (width > limits.max_dimension || height > limits.max_dimension ||
      uint64_t{width} * height > limits.max_pixels) {
    return Error{ErrorKind::kRun,
                 fmt::format("{} claims to be {}x{}, more than the limit of {} pixels", kind, width,
                             height, limits.max_pixels),
                 "", "make the image smaller"};
  }
  return {};
}

Error TooFewBytes(const char* kind, uint32_t width, uint32_t height, size_t bytes) {
  return Error{ErrorKind::kRun,
               fmt::format("{} claims to be {}x{}, which its {} bytes cannot hold", kind, width,
                           height, bytes),
               "", "the file is truncated or forged: write the image again"};
}

Status CheckCrop(int64_t width, int64_t height, const Rect& rect) {
  if (rect.x >= 0 && rect.y >= 0 && rect.width > 0 && rect.height > 0 && rect.x <= width &&
      rect.y <= height && rect.width <= width - rect.x && rect.height <= height - rect.y) {
    return {};
  }
  return Error{ErrorKind::kRun,
               fmt::format("the crop {}x{} at {},{} is outside the image of {}x{}", rect.width,
                           rect.height, rect.x, rect.y, width, height),
               "", "crop less, or resize first"};
}

Status CheckEncodable(const Tensor& image, int64_t most, const char* kind) {
  const Shape& shape = image.shape();
  if (image.dtype() == DType::kUint8 && shape.rank() == 3 && (shape[2] == 3 || shape[2] == 1) &&
      shape[0] >= 1 && shape[1] >= 1 && shape[0] <= most && shape[1] <= most) {
    return {};
  }
  return Error{
      ErrorKind::kRun,
      fmt::format("a {} tensor of {} cannot be a {}", Name(image.dtype()), shape.ToString(), kind),
      "", "it must be height x width x 3 of uint8"};
}

Status Resizer::Resize(const Tensor& image, const Rect& from, int height, int width, Tensor& into) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::kUint8 || shape.rank() != 3 || shape[2] != 3) {
    return NotAnImage(image);
  }
  STALLSCOPE_RETURN_IF_ERROR(CheckCrop(shape[1], shape[0], from));
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
  if (image.shape().rank() != 3) return NotAnImage(image);
  STALLSCOPE_RETURN_IF_ERROR(CheckCrop(image.shape()[1], image.shape()[0], from));
  if (!into.TryReset(image.dtype(), {from.height, from.width, image.shape()[2]})) return NoMemory();
  const size_t stride = static_cast<size_t>(from.width) * PixelBytes(image);
  for (int y = 0; y < from.height; ++y) {
    std::memcpy(into.data() + static_cast<size_t>(y) * stride, PixelAt(image, from.x, from.y + y),
                stride);
  }
  return {};
}

Status Mirror(Tensor& image) {
  const Shape& shape = image.shape();
  if (shape.rank() != 3) return NotAnImage(image);
  const bool done = MirrorAt(image.data(), image.dtype(), shape[0], shape[1], shape[2]);
  return done ? Status() : Status(NotAnImage(image));
}

Status Mirror(Tensor& batch, int64_t image) {
  const Shape& shape = batch.shape();
  if (shape.rank() != 4 || image < 0 || image >= shape[0]) return NotAnImage(batch);
  const auto bytes = static_cast<size_t>(shape[1] * shape[2] * shape[3]) * SizeOf(batch.dtype());
  uint8_t* const at = batch.data() + static_cast<size_t>(image) * bytes;
  const bool done = MirrorAt(at, batch.dtype(), shape[1], shape[2], shape[3]);
  return done ? Status() : Status(NotAnImage(batch));
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

template <class T>
void NormalizeValues(const T* from, size_t count, const NormalizeBy& by, float* to) {
  // Twelve at a time: four pixels, so that the channels' constants line up the same way in each
  // piece and the compiler vectorizes the loop.
  std::array<float, 12> scale;
  std::array<float, 12> offset;
  for (size_t i = 0; i < 12; ++i) {
    scale[i] = by.scale[i % 3];
    offset[i] = by.offset[i % 3];
  }
  size_t at = 0;
  for (; at + 12 <= count; at += 12) {
    for (size_t i = 0; i < 12; ++i) {
      to[at + i] = static_cast<float>(from[at + i]) * scale[i] + offset[i];
    }
  }
  for (; at < count; ++at) {
    to[at] = static_cast<float>(from[at]) * by.scale[at % 3] + by.offset[at % 3];
  }
}

template void NormalizeValues(const uint8_t*, size_t, const NormalizeBy&, float*);
template void NormalizeValues(const float*, size_t, const NormalizeBy&, float*);

Status Normalize(const Tensor& image, const NormalizeBy& by, Tensor& into) {
  const Shape& shape = image.shape();
  const bool bytes = image.dtype() == DType::kUint8;
  if ((!bytes && image.dtype() != DType::kFloat32) || shape.rank() == 0 ||
      shape[shape.rank() - 1] != 3) {
    return NotAnImage(image);
  }
  if (!into.TryReset(DType::kFloat32, shape)) return NoMemory();
  const auto count = static_cast<size_t>(shape.Elements());
  float* to = into.Values<float>().data();
  if (bytes) {
    NormalizeValues(image.data(), count, by, to);
  } else {
    NormalizeValues(image.Values<float>().data(), count, by, to);
  }
  return {};
}

}  // namespace stallscope::data
