// For any bytes, the decoders end within their limits with an image of the header's size or an
// error; a crop has the pixels of the full decode. The same for PNG.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectors/data/jpeg.h"
#include "collectors/data/png.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace stallscope;

data::ImageLimits SmallLimits() {
  data::ImageLimits limits;
  limits.max_pixels = 1 << 18;  // or the fuzzer spends its time on filling memory
  limits.max_scans = 20;
  return limits;
}

// Takes the crop from the last bytes, where the image's own bytes mean little.
data::Rect CropOf(data::ByteView bytes, int width, int height) {
  const auto byte = [&](size_t i) { return bytes[bytes.size() - 1 - i]; };
  data::Rect rect;
  rect.x = byte(0) * width / 256;
  rect.y = byte(1) * height / 256;
  rect.width = 1 + byte(2) * (width - rect.x - 1) / 256;
  rect.height = 1 + byte(3) * (height - rect.y - 1) / 256;
  return rect;
}

void ExpectPart(const data::Tensor& full, const data::Rect& rect, const data::Tensor& part) {
  const auto stride = static_cast<size_t>(full.shape()[1]) * 3;
  for (int y = 0; y < rect.height; ++y) {
    const uint8_t* line =
        full.data() + static_cast<size_t>(rect.y + y) * stride + static_cast<size_t>(rect.x) * 3;
    const auto size = static_cast<size_t>(rect.width) * 3;
    STALLSCOPE_EXPECT(std::memcmp(part.data() + static_cast<size_t>(y) * size, line, size) == 0);
  }
}

void TryJpeg(data::ByteView bytes) {
  static data::JpegDecoder decoder;
  static data::Tensor full;
  static data::Tensor part;
  data::JpegDecodeOptions options;
  options.limits = SmallLimits();
  options.scale = 1 + bytes.back() % 8;
  const auto header = data::ReadJpegHeader(bytes);
  const auto decoded = decoder.Decode(bytes, options, full);
  STALLSCOPE_EXPECT(header.ok() || !decoded.ok());
  if (!header.ok() || header.value().width == 0 || header.value().height == 0) return;
  const int width = data::ScaledDimension(header.value().width, options.scale);
  const int height = data::ScaledDimension(header.value().height, options.scale);
  if (decoded.ok()) STALLSCOPE_EXPECT(full.shape() == data::Shape({height, width, 3}));
  options.crop = CropOf(bytes, width, height);
  const auto cropped = decoder.Decode(bytes, options, part);
  STALLSCOPE_EXPECT(cropped.ok() || !decoded.ok());
  if (decoded.ok()) ExpectPart(full, *options.crop, part);
}

void TryPng(data::ByteView bytes) {
  static data::Tensor image;
  const auto header = data::ReadPngHeader(bytes);
  const Status decoded = data::DecodePng(bytes, SmallLimits(), image);
  if (!decoded.ok()) return;
  STALLSCOPE_EXPECT(header.ok());
  STALLSCOPE_EXPECT(image.shape() == data::Shape({header.value().height, header.value().width, 3}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  TryJpeg({data, size});
  TryPng({data, size});
  return 0;
}
