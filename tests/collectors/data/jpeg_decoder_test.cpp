#include "collectors/data/jpeg.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/collectors/data/jpeg_samples.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using stallscope::ReadWholeFile;
using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Buffer;
using stallscope::data::DType;
using stallscope::data::JpegDecodeOptions;
using stallscope::data::JpegDecoder;
using stallscope::data::JpegEncoder;
using stallscope::data::Rect;
using stallscope::data::ScaledDimension;
using stallscope::data::Shape;
using stallscope::data::Tensor;
using stallscope::test::EncodeSample;
using stallscope::test::JpegColor;
using stallscope::test::JpegSample;
using stallscope::test::SmoothPicture;

namespace {

int LargestDifference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  int most = 0;
  for (size_t i = 0; i < a.bytes(); ++i) {
    most = std::max(most, std::abs(int{a.data()[i]} - int{b.data()[i]}));
  }
  return most;
}

double MeanDifference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double sum = 0;
  for (size_t i = 0; i < a.bytes(); ++i) sum += std::abs(int{a.data()[i]} - int{b.data()[i]});
  return sum / static_cast<double>(a.bytes());
}

Tensor Part(const Tensor& image, const Rect& rect) {
  Tensor part(DType::kUint8, {rect.height, rect.width, 3});
  const auto stride = static_cast<size_t>(image.shape()[1]) * 3;
  for (int y = 0; y < rect.height; ++y) {
    std::memcpy(
        part.data() + static_cast<size_t>(y * rect.width) * 3,
        image.data() + static_cast<size_t>(rect.y + y) * stride + static_cast<size_t>(rect.x) * 3,
        static_cast<size_t>(rect.width) * 3);
  }
  return part;
}

std::vector<JpegSample> AllKinds() {
  std::vector<JpegSample> kinds;
  for (auto [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
    for (bool progressive : {false, true}) {
      JpegSample sample{.width = 157, .height = 91, .h = h, .v = v, .progressive = progressive};
      kinds.push_back(sample);
    }
  }
  for (auto color : {JpegColor::kRgb, JpegColor::kGray, JpegColor::kCmykAdobe,
                     JpegColor::kCmykPlain, JpegColor::kYcck}) {
    kinds.push_back({.width = 157, .height = 91, .color = color, .h = 1, .v = 1});
  }
  kinds.push_back({.width = 157, .height = 91, .color = JpegColor::kYcck});
  kinds.push_back({.width = 157, .height = 91, .arithmetic = true});
  kinds.push_back({.width = 157, .height = 91, .progressive = true, .arithmetic = true});
  kinds.push_back({.width = 157, .height = 91, .restart_rows = 1});
  return kinds;
}

std::string ErrorOf(JpegDecoder& decoder, const std::string& jpeg,
                    const JpegDecodeOptions& options = {}) {
  Tensor image;
  const auto header = decoder.Decode(AsBytes(jpeg), options, image);
  return header.ok() ? "" : header.error().Line();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every kind decodes to the picture that it was made of, with one decoder") {
    JpegDecoder decoder;
    Tensor image;
    for (const JpegSample& sample : AllKinds()) {
      const auto header = decoder.Decode(AsBytes(EncodeSample(sample)), {}, image);
      REQUIRE(header.ok());
      CHECK(header.value().width == 157);
      Tensor expected = SmoothPicture(157, 91);
      if (sample.color == JpegColor::kGray) {
        for (size_t i = 0; i < expected.bytes(); ++i) {
          expected.data()[i] = expected.data()[i / 3 * 3 + 1];
        }
      }
      CHECK(MeanDifference(image, expected) < 2.5);
    }
  }

  TEST_CASE("a crop has the pixels of the full decode, at every kind, scale and place") {
    JpegDecoder decoder;
    uint32_t random = 12345;
    const auto below = [&](int most) {
      random = random * 1664525u + 1013904223u;
      return static_cast<int>((random >> 8) % static_cast<unsigned>(most));
    };
    for (const JpegSample& sample : AllKinds()) {
      const std::string jpeg = EncodeSample(sample);
      for (int scale : {8, 5, 4, 2, 1}) {
        Tensor full;
        REQUIRE(decoder.Decode(AsBytes(jpeg), {.scale = scale}, full).ok());
        const int width = ScaledDimension(157, scale);
        const int height = ScaledDimension(91, scale);
        CHECK(full.shape() == Shape{height, width, 3});
        for (int i = 0; i < 12; ++i) {
          Rect rect{below(width), below(height), 0, 0};
          rect.width = 1 + below(width - rect.x);
          rect.height = 1 + below(height - rect.y);
          if (i == 0) rect = {0, 0, width, height};
          if (i == 1) rect = {width - 1, height - 1, 1, 1};
          Tensor crop;
          REQUIRE(decoder.Decode(AsBytes(jpeg), {.scale = scale, .crop = rect}, crop).ok());
          CHECK(LargestDifference(crop, Part(full, rect)) == 0);
        }
      }
    }
  }

  TEST_CASE("a crop outside the image and an invalid scale are errors, the edge is not") {
    JpegDecoder decoder;
    const std::string jpeg = EncodeSample({});
    const auto crop = [&](Rect rect) { return ErrorOf(decoder, jpeg, {.scale = 8, .crop = rect}); };
    CHECK(crop({0, 0, 64, 48}).empty());
    CHECK(crop({63, 47, 1, 1}).empty());
    CHECK(crop({0, 0, 65, 48}).find("is outside the image of 64x48") != std::string::npos);
    CHECK_FALSE(crop({-1, 0, 10, 10}).empty());
    CHECK_FALSE(crop({0, 0, 0, 10}).empty());
    CHECK_FALSE(crop({64, 0, 1, 1}).empty());
    CHECK_FALSE(crop({1, 0, INT32_MAX, 1}).empty());
    CHECK_FALSE(ErrorOf(decoder, jpeg, {.scale = 0}).empty());
    CHECK_FALSE(ErrorOf(decoder, jpeg, {.scale = 9}).empty());
  }

  TEST_CASE("an image truncated anywhere is an error, and the next one decodes") {
    JpegDecoder decoder;
    for (bool progressive : {false, true}) {
      const std::string whole = EncodeSample({.progressive = progressive});
      for (size_t size = 0; size < whole.size(); size += 7) {
        CHECK_FALSE(ErrorOf(decoder, whole.substr(0, size)).empty());
      }
      CHECK_FALSE(ErrorOf(decoder, whole.substr(0, whole.size() - 2)).empty());
      CHECK(ErrorOf(decoder, whole).empty());
    }
  }

  TEST_CASE("corrupt data is an error that says where, not a gray image") {
    JpegDecoder decoder;
    const std::string whole = EncodeSample({.width = 300, .height = 300, .restart_rows = 1});
    const size_t middle = whole.size() / 2;
    // A marker where none belongs; bytes that are nobody's; both are found.
    std::string marker = whole;
    marker.replace(middle, 2, "\xff\xd9");
    CHECK(ErrorOf(decoder, marker).find("the JPEG is corrupt") != std::string::npos);
    CHECK(ErrorOf(decoder, marker).find("byte ") == 0);
    std::string extra = whole;
    extra.insert(whole.size() - 2, "abcdefgh");
    CHECK(ErrorOf(decoder, extra).find("extraneous") != std::string::npos);
    // What follows the end of the image is not the image's.
    CHECK(ErrorOf(decoder, whole + "trailing").empty());
  }

  TEST_CASE("what the library cannot decode is named") {
    JpegDecoder decoder;
    const auto with_sof = [](int sof, int precision) {
      std::string jpeg = EncodeSample({});
      const size_t at = jpeg.find("\xff\xc0");
      REQUIRE(at != std::string::npos);
      jpeg[at + 1] = static_cast<char>(0xc0 + sof);
      jpeg[at + 4] = static_cast<char>(precision);
      return jpeg;
    };
    CHECK(ErrorOf(decoder, with_sof(3, 8)).find("a lossless JPEG (SOF3, 8 bits)") == 0);
    CHECK(ErrorOf(decoder, with_sof(11, 8)).find("a lossless JPEG (SOF11, 8 bits)") == 0);
    CHECK(ErrorOf(decoder, with_sof(5, 8)).find("a hierarchical JPEG") == 0);
    CHECK(ErrorOf(decoder, with_sof(1, 12)).find("a 12-bit JPEG (SOF1, 12 bits)") == 0);
    CHECK(ErrorOf(decoder, with_sof(0, 8)).empty());
    CHECK(ErrorOf(decoder, with_sof(1, 8)).empty());
  }

  TEST_CASE("a header that claims more than may be, or than its bytes can hold, costs nothing") {
    JpegDecoder decoder;
    const auto with_size = [](int width, int height) {
      std::string jpeg = EncodeSample({});
      const size_t at = jpeg.find("\xff\xc0") + 5;
      jpeg[at] = static_cast<char>(height >> 8);
      jpeg[at + 1] = static_cast<char>(height);
      jpeg[at + 2] = static_cast<char>(width >> 8);
      jpeg[at + 3] = static_cast<char>(width);
      return jpeg;
    };
    CHECK(ErrorOf(decoder, with_size(65535, 65535)).find("more than the limit") !=
          std::string::npos);
    CHECK(ErrorOf(decoder, with_size(65000, 65000)).find("more than the limit") !=
          std::string::npos);
    CHECK(ErrorOf(decoder, with_size(8000, 8000)).find("bytes cannot hold") != std::string::npos);
    CHECK(ErrorOf(decoder, with_size(0, 48)).find("claims to be 0x48") != std::string::npos);
    CHECK_FALSE(ErrorOf(decoder, with_size(64, 0)).empty());
    // A little larger than it is: the data runs out.
    CHECK(ErrorOf(decoder, with_size(64, 64)).find("corrupt") != std::string::npos);
    CHECK(ErrorOf(decoder, with_size(64, 48)).empty());
    JpegDecodeOptions options;
    options.limits.max_pixels = 64 * 48;
    CHECK(ErrorOf(decoder, with_size(64, 48), options).empty());
    options.limits.max_pixels = 64 * 48 - 1;
    CHECK_FALSE(ErrorOf(decoder, with_size(64, 48), options).empty());
  }

  TEST_CASE("an image of too many scans is refused") {
    JpegDecoder decoder;
    const std::string jpeg = EncodeSample({.progressive = true});
    JpegDecodeOptions options;
    options.limits.max_scans = 3;
    CHECK(ErrorOf(decoder, jpeg, options).find("more than 3 scans") != std::string::npos);
    options.limits.max_scans = 10;
    CHECK(ErrorOf(decoder, jpeg, options).empty());
  }

  TEST_CASE("what the encoder writes is what the decoder reads") {
    JpegEncoder encoder;
    JpegDecoder decoder;
    Buffer jpeg;
    Tensor image;
    for (bool progressive : {false, true}) {
      for (bool halve : {false, true}) {
        for (int quality : {75, 95}) {
          const Tensor picture = SmoothPicture(211, 131);
          REQUIRE(encoder.Encode(picture, {quality, halve, progressive}, jpeg).ok());
          const auto header = decoder.Decode(jpeg, {}, image);
          REQUIRE(header.ok());
          CHECK(header.value().progressive() == progressive);
          CHECK(header.value().h[0] == (halve ? 2 : 1));
          CHECK(MeanDifference(image, picture) < 2.5);
        }
      }
    }
    CHECK(reinterpret_cast<uintptr_t>(jpeg.data()) % 64 == 0);
  }

  TEST_CASE("the encoder grows its buffer, takes grayscale, and refuses what is no image") {
    JpegEncoder encoder;
    Tensor noise(DType::kUint8, {300, 400, 3});
    uint32_t random = 1;
    for (size_t i = 0; i < noise.bytes(); ++i) {
      random = random * 1664525u + 1013904223u;
      noise.data()[i] = static_cast<uint8_t>(random >> 24);
    }
    Buffer jpeg;
    REQUIRE(encoder.Encode(noise, {100, false, false}, jpeg).ok());
    CHECK(jpeg.size() > 200'000);
    CHECK(static_cast<uint8_t>(jpeg.data()[jpeg.size() - 1]) == 0xd9);
    Tensor gray(DType::kUint8, {20, 30, 1});
    std::memset(gray.data(), 99, gray.bytes());
    REQUIRE(encoder.Encode(gray, {}, jpeg).ok());
    CHECK(stallscope::data::ReadJpegHeader(jpeg).value().components == 1);
    CHECK_FALSE(encoder.Encode(Tensor(DType::kFloat32, {20, 30, 3}), {}, jpeg).ok());
    CHECK_FALSE(encoder.Encode(Tensor(DType::kUint8, {20, 30}), {}, jpeg).ok());
    CHECK_FALSE(encoder.Encode(Tensor(DType::kUint8, {0, 30, 3}), {}, jpeg).ok());
  }

  TEST_CASE("real files decode, but for the lossless one, which is named") {
    const auto corpus = stallscope::test::CorpusDir();
    if (!corpus.has_value()) return stallscope::test::Skip("STALLSCOPE_CORPUS is not set");
    JpegDecoder decoder;
    int decoded = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*corpus + "/jpeg")) {
      const std::string jpeg = ReadWholeFile(entry.path(), 1 << 24).value();
      Tensor full;
      const auto header = decoder.Decode(AsBytes(jpeg), {}, full);
      if (entry.path().string().find("grayscale_8bit") != std::string::npos) {
        REQUIRE_FALSE(header.ok());
        CHECK(header.error().what == "a lossless JPEG (SOF3, 8 bits) is not supported");
        continue;
      }
      REQUIRE(header.ok());
      const int width = static_cast<int>(header.value().width);
      const int height = static_cast<int>(header.value().height);
      CHECK(full.shape() == Shape{height, width, 3});
      const Rect rect{width / 3 + 1, height / 5, width / 2, height / 2};
      Tensor crop;
      REQUIRE(decoder.Decode(AsBytes(jpeg), {.scale = 8, .crop = rect}, crop).ok());
      CHECK(LargestDifference(crop, Part(full, rect)) == 0);
      ++decoded;
    }
    CHECK(decoded >= 5);
  }
}
