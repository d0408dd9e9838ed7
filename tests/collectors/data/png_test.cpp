#include "collectors/data/png.h"

#include <doctest/doctest.h>
#include <png.h>

#include <cstring>
#include <string>
#include <vector>

#include "collectors/data/example.h"
#include "collectors/data/tfrecord.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Buffer;
using stallscope::data::DecodePng;
using stallscope::data::DType;
using stallscope::data::EncodePng;
using stallscope::data::ImageLimits;
using stallscope::data::ReadPngHeader;
using stallscope::data::Shape;
using stallscope::data::Tensor;

namespace {

void AppendTo(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), size);
}

// A PNG of this kind, each row the given bytes, straight from libpng.
std::string WritePng(uint32_t width, uint32_t height, int depth, int color, bool interlaced,
                     const std::string& row) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, &AppendTo, nullptr);
  png_set_IHDR(png, info, width, height, depth, color,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_color palette[2] = {{10, 20, 30}, {200, 150, 100}};
  png_byte alphas[1] = {0};
  if (color == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(png, info, palette, 2);
    png_set_tRNS(png, info, alphas, 1, nullptr);
  }
  png_set_gAMA(png, info, 1.0);
  png_write_info(png, info);
  std::vector<png_bytep> rows(height, reinterpret_cast<png_bytep>(const_cast<char*>(row.data())));
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string FirstRow(const std::string& png) {
  Tensor image;
  const auto decoded = DecodePng(AsBytes(png), {}, image);
  if (!decoded.ok()) return decoded.error().Line();
  return std::string(AsText(image.view().first(static_cast<size_t>(image.shape()[1]) * 3)));
}

Tensor Picture() {
  Tensor picture(DType::kUint8, {37, 53, 3});
  for (size_t i = 0; i < picture.bytes(); ++i) {
    picture.data()[i] = static_cast<uint8_t>(i * 7 + i / 159);
  }
  return picture;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a PNG holds what was put in, in color and in gray") {
    const Tensor picture = Picture();
    Buffer png;
    REQUIRE(EncodePng(picture, png).ok());
    CHECK(ReadPngHeader(png).value().width == 53);
    CHECK(ReadPngHeader(png).value().height == 37);
    Tensor image;
    REQUIRE(DecodePng(png, {}, image).ok());
    CHECK(image.shape() == picture.shape());
    CHECK(AsText(image.view()) == AsText(picture.view()));
    Tensor gray(DType::kUint8, {2, 2, 1});
    std::memcpy(gray.data(), "\x01\x02\x03\x04", 4);
    REQUIRE(EncodePng(gray, png).ok());
    REQUIRE(DecodePng(png, {}, image).ok());
    CHECK(AsText(image.view()) == "\x01\x01\x01\x02\x02\x02\x03\x03\x03\x04\x04\x04");
    CHECK_FALSE(EncodePng(Tensor(DType::kUint8, {2, 2, 4}), png).ok());
  }

  TEST_CASE("every kind of PNG becomes RGB, without its alpha and its gamma") {
    using namespace std::string_literals;
    for (bool interlaced : {false, true}) {
      CHECK(FirstRow(WritePng(2, 3, 8, PNG_COLOR_TYPE_GRAY, interlaced, "\x05\x85")) ==
            "\x05\x05\x05\x85\x85\x85");
      CHECK(FirstRow(WritePng(8, 3, 1, PNG_COLOR_TYPE_GRAY, interlaced, "\x80")) ==
            "\xff\xff\xff"s + std::string(21, '\0'));
      CHECK(FirstRow(WritePng(2, 3, 8, PNG_COLOR_TYPE_PALETTE, interlaced, "\x00\x01"s)) ==
            "\x0a\x14\x1e\xc8\x96\x64");
      CHECK(FirstRow(WritePng(1, 3, 8, PNG_COLOR_TYPE_RGB_ALPHA, interlaced,
                              "\x01\x02\x03\x00"s)) == "\x01\x02\x03");
      CHECK(FirstRow(WritePng(1, 3, 16, PNG_COLOR_TYPE_RGB, interlaced,
                              "\x01\xff\x02\xff\x03\xff")) == "\x01\x02\x03");
      CHECK(FirstRow(WritePng(1, 3, 8, PNG_COLOR_TYPE_GRAY_ALPHA, interlaced, "\x07\x00"s)) ==
            "\x07\x07\x07");
    }
  }

  TEST_CASE("a PNG truncated anywhere, or with a flipped bit, is an error") {
    Buffer png;
    REQUIRE(EncodePng(Picture(), png).ok());
    Tensor image;
    for (size_t size = 0; size < png.size(); size += 11) {
      CHECK_FALSE(DecodePng(png.view().first(size), {}, image).ok());
    }
    CHECK(DecodePng(png, {}, image).ok());
    Buffer damaged = png;
    damaged.data()[png.size() / 2] ^= 4;
    const auto decoded = DecodePng(damaged, {}, image);
    REQUIRE_FALSE(decoded.ok());
    CHECK(decoded.error().what.starts_with("the PNG is corrupt"));
    CHECK(decoded.error().where.starts_with("byte "));
    CHECK(DecodePng(AsBytes("GIF89a"), {}, image).error().what == "not a PNG");
  }

  TEST_CASE("a header that claims more than may be, or than its bytes can hold, costs nothing") {
    const std::string png = WritePng(2, 3, 8, PNG_COLOR_TYPE_GRAY, false, "\x05\x85");
    const auto with_size = [&](uint32_t width, uint32_t height) {
      std::string changed = png;
      for (size_t i = 0; i < 4; ++i) {
        changed[16 + i] = static_cast<char>(width >> (24 - 8 * i));
        changed[20 + i] = static_cast<char>(height >> (24 - 8 * i));
      }
      Tensor image;
      const auto decoded = DecodePng(AsBytes(changed), {}, image);
      return decoded.ok() ? "" : decoded.error().what;
    };
    CHECK(with_size(65000, 65000).find("more than the limit") != std::string::npos);
    CHECK(with_size(UINT32_MAX, 1).find("more than the limit") != std::string::npos);
    CHECK(with_size(8000, 8000).find("bytes cannot hold") != std::string::npos);
    CHECK_FALSE(with_size(0, 3).empty());
    CHECK(with_size(2, 3).empty());
    ImageLimits limits;
    limits.max_pixels = 5;
    Tensor image;
    CHECK_FALSE(DecodePng(AsBytes(png), limits, image).ok());
    limits.max_pixels = 6;
    CHECK(DecodePng(AsBytes(png), limits, image).ok());
  }

  TEST_CASE("the PNGs in real records decode") {
    const auto corpus = stallscope::test::CorpusDir();
    if (!corpus.has_value()) return stallscope::test::Skip("STALLSCOPE_CORPUS is not set");
    auto reader = stallscope::data::TfRecordReader::Open(
        *corpus + "/tfrecord/tensorflow__tfx_cifar10_test_test_tiny.tfrecord");
    REQUIRE(reader.ok());
    stallscope::data::ExampleView view;
    Tensor image;
    for (int i = 0; i < 100; ++i) {
      REQUIRE(view.Reset(reader.value().Next().value()->payload).ok());
      REQUIRE(DecodePng(OneBytes(*view.Find("image")).value(), {}, image).ok());
      CHECK(image.shape() == Shape{32, 32, 3});
    }
  }
}
