#include "gui/raster/svg.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "tests/gui/raster/drawn.h"

using stallscope::raster::Svg;
using stallscope::raster::SvgFont;
using stallscope::raster::Texture;
using stallscope::test::Drawn;
using stallscope::test::kBlack;
using stallscope::test::kWhite;

namespace {

std::string PageOf(const Drawn& drawn) {
  return Svg(drawn.data(), {SvgFont{&drawn.font(), "Proggy, monospace", 400, 1}}, kBlack);
}

size_t CountOf(const std::string& page, const std::string& part) {
  size_t count = 0;
  for (size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a rectangle is one element, and so is a circle") {
    const Drawn drawn(40, 40, [](ImDrawList& list) {
      list.AddRectFilled({1, 2}, {11, 22}, IM_COL32(255, 0, 0, 255));
      list.AddCircleFilled({20, 20}, 8, IM_COL32(0, 255, 0, 51));
    });
    const std::string page = PageOf(drawn);
    CHECK(page.find("<rect x=\"1\" y=\"2\" width=\"10\" height=\"20\" fill=\"#ff0000\"") !=
          std::string::npos);
    CHECK(CountOf(page, "<polygon") == 1);
    CHECK(page.find("fill=\"#00ff00\" fill-opacity=\"0.2\"") != std::string::npos);
    CHECK(CountOf(page, "<rect") == 2);  // and the background
  }

  TEST_CASE("words stay words, and markup is escaped") {
    const Drawn drawn(200, 40, [](ImDrawList& list) {
      list.AddText({5, 5}, kWhite, "decode is <busy> & late");
      list.AddText({5, 20}, IM_COL32(1, 2, 3, 255), "p95");
    });
    const std::string page = PageOf(drawn);
    CHECK(page.find(">decode is &lt;busy&gt; &amp; late</text>") != std::string::npos);
    CHECK(page.find(">p95</text>") != std::string::npos);
    CHECK(CountOf(page, "<text") == 2);
    CHECK(page.find("font-family=\"Proggy, monospace\"") != std::string::npos);
  }

  TEST_CASE("no name can end a section of the page") {
    const Drawn drawn(200, 40, [](ImDrawList& list) {
      list.AddText({5, 5}, kWhite, "a]]>b --> \"c'");
    });
    const std::string page = PageOf(drawn);
    CHECK(page.find(">a]]&gt;b --&gt; &quot;c&#39;</text>") != std::string::npos);
  }

  TEST_CASE("words far apart stay separate") {
    const Drawn drawn(200, 40, [](ImDrawList& list) {
      list.AddText({5, 5}, kWhite, "left");
      list.AddText({100, 5}, kWhite, "right");
    });
    CHECK(CountOf(PageOf(drawn), "<text") == 2);
  }

  TEST_CASE("a clip is emitted only if it cuts something off") {
    const Drawn inside(100, 100, [](ImDrawList& list) {
      list.PushClipRect({10, 10}, {50, 50});
      list.AddRectFilled({20, 20}, {40, 30}, kWhite);
      list.AddRectFilled({60, 60}, {70, 70}, kWhite);  // wholly outside: left out
      list.PopClipRect();
    });
    const std::string whole = PageOf(inside);
    CHECK(CountOf(whole, "clip") == 0);
    CHECK(CountOf(whole, "<rect") == 2);
  }

  TEST_CASE("shapes are cut at the clip") {
    const Drawn drawn(100, 100, [](ImDrawList& list) {
      list.PushClipRect({10, 10}, {50, 50});
      list.AddRectFilled({20, 20}, {60, 30}, kWhite);
      list.PopClipRect();
    });
    const std::string page = PageOf(drawn);
    CHECK(CountOf(page, "<clipPath id=\"c0\">") == 1);
    CHECK(CountOf(page, "<g clip-path=\"url(#c0)\">") == 1);
    CHECK(CountOf(page, "</g>") == 1);
  }

  TEST_CASE("a strip of texels becomes one rectangle per run of a color") {
    const uint32_t red = IM_COL32(255, 0, 0, 255);
    const std::array<uint32_t, 6> texels = {red, red, red, 0, kWhite, kWhite};
    const Texture strip{6, 1, texels.data(), false};
    const Drawn drawn(100, 100, [&](ImDrawList& list) {
      list.AddImage(const_cast<Texture*>(&strip), {10, 10}, {70, 20});
    });
    const std::string page = PageOf(drawn);
    CHECK(CountOf(page, "<rect") == 3);  // with the background; the clear texel is left out
    CHECK(page.find("<rect x=\"10\" y=\"10\" width=\"30\" height=\"10\" fill=\"#ff0000\"") !=
          std::string::npos);
    CHECK(page.find("<rect x=\"50\" y=\"10\" width=\"20\"") != std::string::npos);
  }
}
