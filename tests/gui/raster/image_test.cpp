#include "gui/raster/image.h"

#include <doctest/doctest.h>

#include "collectors/data/png.h"
#include "tests/gui/raster/drawn.h"

using stallscope::data::AsBytes;
using stallscope::data::DecodePng;
using stallscope::data::Tensor;
using stallscope::raster::EncodePng;
using stallscope::raster::Image;

TEST_SUITE("fast") {
  TEST_CASE("an image survives PNG encoding, without alpha") {
    Image image(3, 2, IM_COL32(1, 2, 3, 255));
    image.At(2, 0) = IM_COL32(200, 100, 50, 0);
    const auto png = EncodePng(image);
    REQUIRE(png.ok());
    Tensor decoded;
    REQUIRE(DecodePng(AsBytes(png.value()), {}, decoded).ok());
    CHECK(decoded.shape().ToString() == "2x3x3");
    const uint8_t* row = decoded.data();
    CHECK(int{row[0]} == 1);
    CHECK(int{row[2]} == 3);
    CHECK(int{row[6]} == 200);
    CHECK(int{row[7]} == 100);
    CHECK(int{row[8]} == 50);
  }

  TEST_CASE("an image without pixels is a one-line error") {
    const auto png = EncodePng(Image());
    REQUIRE_FALSE(png.ok());
    CHECK(png.error().Line().find('\n') == std::string::npos);
  }
}
