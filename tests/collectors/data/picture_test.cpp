#include "collectors/data/picture.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <vector>

#include "collectors/data/buffer.h"
#include "collectors/data/generate.h"
#include "collectors/data/jpeg.h"

using stallscope::data::AsText;
using stallscope::data::Buffer;
using stallscope::data::Crc32c;
using stallscope::data::JpegEncoder;
using stallscope::data::LabelOf;
using stallscope::data::PicturePainter;
using stallscope::data::Shape;
using stallscope::data::Tensor;

namespace {

using Color = std::array<double, 3>;

// The mean color of the middle half, without its brightness.
Color MiddleColor(const Tensor& picture) {
  const int64_t height = picture.shape()[0];
  const int64_t width = picture.shape()[1];
  Color sum{};
  for (int64_t y = height / 4; y < height * 3 / 4; ++y) {
    for (int64_t x = width / 4; x < width * 3 / 4; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        sum[c] += picture.data()[static_cast<size_t>(y * width + x) * 3 + c];
      }
    }
  }
  const double mean = (sum[0] + sum[1] + sum[2]) / 3;
  for (double& value : sum) value = (value - mean) / static_cast<double>(height * width / 4);
  return sum;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a picture is the same whenever and wherever it is painted") {
    PicturePainter painter(96, 64);
    Tensor first;
    Tensor again;
    painter.Paint(1, 2, 3, first);
    painter.Paint(9, 9, 9, again);
    painter.Paint(1, 2, 3, again);
    CHECK(first.shape() == Shape{64, 96, 3});
    CHECK(AsText(first.view()) == AsText(again.view()));
    // Of another machine, compiler and build type than yours.
    CHECK(Crc32c(first.view()) == 41112831u);
    painter.Paint(1, 3, 3, again);
    CHECK(AsText(first.view()) != AsText(again.view()));
    painter.Paint(2, 2, 3, again);
    CHECK(AsText(first.view()) != AsText(again.view()));
  }

  TEST_CASE("a picture of 500x375 is as large a JPEG as a photograph") {
    PicturePainter painter(500, 375);
    JpegEncoder encoder;
    Tensor picture;
    Buffer jpeg;
    for (int i = 0; i < 4; ++i) {
      painter.Paint(5, static_cast<uint64_t>(i), i, picture);
      REQUIRE(encoder.Encode(picture, {}, jpeg).ok());
      CHECK(jpeg.size() > 55'000);
      CHECK(jpeg.size() < 140'000);
    }
  }

  TEST_CASE("pictures of every size can be painted, down to one pixel") {
    for (auto [width, height] : {std::pair{1, 1}, {1, 40}, {40, 1}, {7, 5}, {33, 64}}) {
      PicturePainter painter(width, height);
      Tensor picture;
      painter.Paint(1, 1, 1, picture);
      CHECK(picture.shape() == Shape{height, width, 3});
    }
  }

  TEST_CASE("a class shows: its hue alone tells most pictures apart") {
    constexpr int kClasses = 8;
    PicturePainter painter(64, 64);
    Tensor picture;
    std::vector<Color> means(kClasses);
    for (int i = 0; i < kClasses * 10; ++i) {
      painter.Paint(3, static_cast<uint64_t>(i), i % kClasses, picture);
      const Color color = MiddleColor(picture);
      for (size_t c = 0; c < 3; ++c) means[static_cast<size_t>(i % kClasses)][c] += color[c] / 10;
    }
    int right = 0;
    for (int i = 0; i < kClasses * 10; ++i) {
      painter.Paint(4, static_cast<uint64_t>(i), i % kClasses, picture);
      const Color color = MiddleColor(picture);
      int nearest = 0;
      double least = 1e18;
      for (int label = 0; label < kClasses; ++label) {
        double distance = 0;
        for (size_t c = 0; c < 3; ++c) {
          const double difference = color[c] - means[static_cast<size_t>(label)][c];
          distance += difference * difference;
        }
        if (distance < least) nearest = label;
        least = std::min(least, distance);
      }
      right += nearest == i % kClasses;
    }
    CHECK(right > kClasses * 10 * 7 / 10);
  }

  TEST_CASE("every block of images holds each class once, in another order each time") {
    for (int classes : {1, 2, 3, 10, 12, 97}) {
      std::vector<std::vector<int>> orders;
      for (int block = 0; block < 6; ++block) {
        std::vector<int> order;
        std::vector<int> seen(static_cast<size_t>(classes), 0);
        for (int i = 0; i < classes; ++i) {
          order.push_back(LabelOf(1, int64_t{block} * classes + i, classes));
          ++seen[static_cast<size_t>(order.back())];
        }
        CHECK(seen == std::vector<int>(static_cast<size_t>(classes), 1));
        orders.push_back(order);
      }
      if (classes > 9) CHECK(orders[0] != orders[1]);
    }
  }
}
