#include "gui/raster/rasterize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "gui/raster/rasterize.h"
#include "tests/gui/raster/drawn.h"

using stallscope::raster::Clip;
using stallscope::raster::FillTriangle;
using stallscope::raster::Image;
using stallscope::raster::Texture;
using stallscope::test::Drawn;
using stallscope::test::kBlack;
using stallscope::test::kWhite;

namespace {

long CountOf(const Image& image, uint32_t color) {
  return std::count(image.pixels.begin(), image.pixels.end(), color);
}

// Twice the signed area of a, b, p; exact, as the corners are multiples of 1/256.
double Side(ImVec2 a, ImVec2 b, double x, double y) {
  return (double{b.x} - a.x) * (y - a.y) - (double{b.y} - a.y) * (x - a.x);
}

constexpr uint32_t kTexel = kWhite;
const Texture kOneTexel{1, 1, &kTexel, false};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a rectangle fills the pixels whose centers it covers") {
    const Drawn drawn(8, 8, [](ImDrawList& list) {
      list.AddRectFilled({1, 1}, {3, 4}, kWhite);
      list.AddRectFilled({4.6f, 4.4f}, {6.6f, 5.6f}, kWhite);
    });
    const Image image = drawn.Picture();
    CHECK(image.At(1, 1) == kWhite);
    CHECK(image.At(2, 3) == kWhite);
    CHECK(image.At(3, 1) == kBlack);
    CHECK(image.At(1, 4) == kBlack);
    CHECK(image.At(4, 4) == kBlack);  // its center 4.5 lies left of 4.6
    CHECK(image.At(5, 4) == kWhite);
    CHECK(image.At(6, 5) == kWhite);
    CHECK(CountOf(image, kWhite) == 6 + 4);
  }

  TEST_CASE("triangles with a common edge neither overlap nor leave gaps") {
    // Half covered white over black, once: 128. Twice, or never, is something else.
    const Drawn drawn(64, 64, [](ImDrawList& list) {
      const uint32_t half = IM_COL32(255, 255, 255, 128);
      const ImVec2 middle(31.3f, 30.7f);
      const std::array<ImVec2, 4> corners = {{{0, 0}, {64, 0}, {64, 64}, {0, 64}}};
      for (size_t i = 0; i < 4; ++i) {
        list.AddTriangleFilled(corners[i], corners[(i + 1) % 4], middle, half);
      }
    });
    CHECK(CountOf(drawn.Picture(), IM_COL32(128, 128, 128, 255)) == 64 * 64);
  }

  TEST_CASE("random triangles cover exactly the pixel centers inside") {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> place(-20 * 256, 52 * 256);
    for (int round = 0; round < 300; ++round) {
      std::array<ImDrawVert, 3> v{};
      for (ImDrawVert& vertex : v) {
        vertex.pos = {static_cast<float>(place(random)) / 256,
                      static_cast<float>(place(random)) / 256};
        vertex.col = kWhite;
      }
      Image image(32, 32, kBlack);
      FillTriangle(v[0], v[1], v[2], kOneTexel, {0, 0, 32, 32}, image);
      for (int y = 0; y < 32; ++y) {
        for (int x = 0; x < 32; ++x) {
          const double s0 = Side(v[0].pos, v[1].pos, x + 0.5, y + 0.5);
          const double s1 = Side(v[1].pos, v[2].pos, x + 0.5, y + 0.5);
          const double s2 = Side(v[2].pos, v[0].pos, x + 0.5, y + 0.5);
          if (s0 == 0 || s1 == 0 || s2 == 0) continue;  // on an edge: the case above
          const bool inside = (s0 > 0) == (s1 > 0) && (s1 > 0) == (s2 > 0);
          REQUIRE((image.At(x, y) == kWhite) == inside);
        }
      }
    }
  }

  TEST_CASE("drawing stops exactly at the clip") {
    const Drawn drawn(16, 16, [](ImDrawList& list) {
      list.PushClipRect({2, 3}, {7, 9});
      list.AddRectFilled({-100, -100}, {100, 100}, kWhite);
      list.PopClipRect();
    });
    const Image image = drawn.Picture();
    CHECK(CountOf(image, kWhite) == 5 * 6);
    CHECK(image.At(2, 3) == kWhite);
    CHECK(image.At(6, 8) == kWhite);
    CHECK(image.At(7, 8) == kBlack);
  }

  TEST_CASE("a triangle of zero area draws nothing") {
    Image image(4, 4, kBlack);
    ImDrawVert a{{0, 0}, {0, 0}, kWhite};
    ImDrawVert b{{4, 4}, {0, 0}, kWhite};
    FillTriangle(a, b, a, kOneTexel, {0, 0, 4, 4}, image);
    CHECK(CountOf(image, kWhite) == 0);
  }

  TEST_CASE("colors and texels are interpolated between the corners") {
    const std::array<uint32_t, 4> texels = {kBlack, kWhite, kBlack, kWhite};
    const auto strip = [&](bool smooth) {
      const Texture texture{4, 1, texels.data(), smooth};
      Image image(8, 2, kBlack);
      const ImDrawVert a{{0, 0}, {0, 0}, kWhite};
      const ImDrawVert b{{8, 0}, {1, 0}, kWhite};
      const ImDrawVert c{{8, 2}, {1, 1}, kWhite};
      const ImDrawVert d{{0, 2}, {0, 1}, kWhite};
      FillTriangle(a, b, c, texture, {0, 0, 8, 2}, image);
      FillTriangle(a, c, d, texture, {0, 0, 8, 2}, image);
      return image;
    };
    const Image nearest = strip(false);
    CHECK(nearest.At(1, 0) == kBlack);
    CHECK(nearest.At(2, 1) == kWhite);
    CHECK(nearest.At(5, 1) == kBlack);
    // Two pixels a texel: each center lies a quarter texel from its texel's.
    const Image smooth = strip(true);
    CHECK((smooth.At(1, 0) & 255) == doctest::Approx(64).epsilon(0.02));
    CHECK((smooth.At(2, 0) & 255) == doctest::Approx(191).epsilon(0.02));

    Image shaded(9, 9, kBlack);
    const ImDrawVert dark{{0, 0}, {0, 0}, kBlack};
    const ImDrawVert light{{9, 0}, {0, 0}, kWhite};
    const ImDrawVert low{{0, 9}, {0, 0}, kBlack};
    FillTriangle(dark, light, low, kOneTexel, {0, 0, 9, 9}, shaded);
    CHECK((shaded.At(4, 1) & 255) == doctest::Approx(127.5).epsilon(0.02));
  }

  TEST_CASE("a letter is drawn as it is in the atlas") {
    const Drawn drawn(32, 32, [](ImDrawList& list) { list.AddText({5, 6}, kWhite, "R"); });
    const Image image = drawn.Picture();
    const ImFontGlyph& glyph = *drawn.font().FindGlyph('R');
    const auto left = static_cast<int>(5 + glyph.X0);
    const auto top = static_cast<int>(6 + glyph.Y0);
    const int u = static_cast<int>(glyph.U0 * static_cast<float>(drawn.atlas().width) + 0.5f);
    const int v = static_cast<int>(glyph.V0 * static_cast<float>(drawn.atlas().height) + 0.5f);
    for (int y = 0; y < static_cast<int>(glyph.Y1 - glyph.Y0); ++y) {
      for (int x = 0; x < static_cast<int>(glyph.X1 - glyph.X0); ++x) {
        const uint32_t alpha = drawn.atlas().pixels[(v + y) * drawn.atlas().width + u + x] >> 24;
        REQUIRE((image.At(left + x, top + y) & 255) == alpha);
      }
    }
  }
}
