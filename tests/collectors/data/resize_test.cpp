#include "collectors/data/image.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/collectors/data/jpeg_samples.h"

using stallscope::data::AsText;
using stallscope::data::Crop;
using stallscope::data::DType;
using stallscope::data::ImageNetNormalization;
using stallscope::data::Mirror;
using stallscope::data::Normalize;
using stallscope::data::Rect;
using stallscope::data::Resizer;
using stallscope::data::Shape;
using stallscope::data::Tensor;
using stallscope::test::SmoothPicture;

TEST_SUITE("fast") {
  TEST_CASE("a smooth picture resized is the picture of that size") {
    Resizer resizer;
    Tensor image(DType::kUint8, {200, 300, 3});
    for (size_t i = 0; i < image.bytes(); ++i) {
      const size_t x = i / 3 % 300;
      const size_t y = i / 900;
      image.data()[i] = static_cast<uint8_t>((x + y) / 2 + 3 * (i % 3));
    }
    Tensor resized;
    for (auto [height, width] : {std::pair{100, 150}, {224, 224}, {50, 60}, {200, 300}, {7, 11}}) {
      REQUIRE(resizer.Resize(image, {0, 0, 300, 200}, height, width, resized).ok());
      CHECK(resized.shape() == Shape{height, width, 3});
      int most = 0;
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int c = 0; c < 3; ++c) {
            const double at_x = (x + 0.5) * 300 / width - 0.5;
            const double at_y = (y + 0.5) * 200 / height - 0.5;
            const int expected = static_cast<int>((at_x + at_y) / 2 + 3 * c);
            const auto at = static_cast<size_t>((y * width + x) * 3 + c);
            most = std::max(most, std::abs(int{resized.data()[at]} - expected));
          }
        }
      }
      CHECK(most <= 4);
    }
  }

  TEST_CASE("a part is resized as if it were the whole") {
    Resizer resizer;
    const Tensor image = SmoothPicture(120, 90);
    const Rect part{17, 23, 60, 40};
    Tensor cropped;
    REQUIRE(Crop(image, part, cropped).ok());
    CHECK(cropped.shape() == Shape{40, 60, 3});
    CHECK(cropped.data()[0] == image.data()[(23 * 120 + 17) * 3]);
    Tensor of_part;
    Tensor of_cropped;
    REQUIRE(resizer.Resize(image, part, 32, 32, of_part).ok());
    REQUIRE(resizer.Resize(cropped, {0, 0, 60, 40}, 32, 32, of_cropped).ok());
    CHECK(AsText(of_part.view()) == AsText(of_cropped.view()));
  }

  TEST_CASE("a mirrored image is mirrored back by mirroring it") {
    for (int width : {1, 2, 7, 8, 31, 32, 33, 500, 4096, 4097}) {
      const Tensor image = SmoothPicture(width, 5);
      Tensor mirrored = image;
      REQUIRE(Mirror(mirrored).ok());
      bool right = true;
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) {
          right = right && mirrored.data()[x * 3 + c] == image.data()[(width - 1 - x) * 3 + c];
        }
      }
      CHECK(right);
      REQUIRE(Mirror(mirrored).ok());
      CHECK(AsText(mirrored.view()) == AsText(image.view()));
    }
  }

  TEST_CASE("normalized values are those of the formula") {
    Tensor image(DType::kUint8, {3, 7, 3});
    for (size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<uint8_t>(i * 4);
    Tensor normal;
    REQUIRE(Normalize(image, ImageNetNormalization(), normal).ok());
    CHECK(normal.dtype() == DType::kFloat32);
    CHECK(normal.shape() == image.shape());
    constexpr float kMean[] = {0.485f, 0.456f, 0.406f};
    constexpr float kDeviation[] = {0.229f, 0.224f, 0.225f};
    for (size_t i = 0; i < image.bytes(); ++i) {
      const float expected =
          (static_cast<float>(image.data()[i]) / 255 - kMean[i % 3]) / kDeviation[i % 3];
      CHECK(std::abs(normal.Values<float>()[i] - expected) < 1e-5f);
    }
  }

  TEST_CASE("an invalid image, and a part outside it, are errors") {
    Resizer resizer;
    Tensor into;
    Tensor image = SmoothPicture(10, 10);
    CHECK(resizer.Resize(image, {0, 0, 10, 10}, 4, 4, into).ok());
    CHECK_FALSE(resizer.Resize(image, {0, 0, 11, 10}, 4, 4, into).ok());
    CHECK_FALSE(resizer.Resize(image, {0, 0, 10, 10}, 0, 4, into).ok());
    CHECK_FALSE(resizer.Resize(image, {0, 0, 10, 10}, 1'000'000, 4, into).ok());
    CHECK_FALSE(Crop(image, {-1, 0, 2, 2}, into).ok());
    Tensor floats(DType::kFloat32, {10, 10, 3});
    CHECK(resizer.Resize(floats, {0, 0, 10, 10}, 4, 4, into).error().what ==
          "a float32 tensor of 10x10x3 is not an image");
    Tensor row(DType::kUint8, {10});
    CHECK_FALSE(Mirror(row).ok());
    CHECK_FALSE(Normalize(Tensor(DType::kUint8, {10, 10, 4}), ImageNetNormalization(), into).ok());
    CHECK_FALSE(Normalize(Tensor(DType::kInt64, {10, 3}), ImageNetNormalization(), into).ok());
    CHECK_FALSE(Crop(Tensor(DType::kUint8, {10, 10}), {0, 0, 1, 1}, into).ok());
  }
}
