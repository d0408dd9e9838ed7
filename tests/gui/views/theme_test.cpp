#include "gui/views/theme.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using stallscope::session::Theme;
using stallscope::viewmodel::Paint;
using namespace stallscope::views;  // NOLINT(google-build-using-namespace)

namespace {

double Linear(ImU32 byte) {
  const double value = static_cast<double>(byte & 255) / 255;
  return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double Luminance(ImU32 color) {
  return 0.2126 * Linear(color) + 0.7152 * Linear(color >> 8) + 0.0722 * Linear(color >> 16);
}

// As WCAG 2 has it.
double Contrast(ImU32 a, ImU32 b) {
  const auto [low, high] = std::minmax({Luminance(a), Luminance(b)});
  return (high + 0.05) / (low + 0.05);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("text is readable on every background") {
    for (const Theme theme : {Theme::kDark, Theme::kLight}) {
      const Colors& c = ColorsOf(theme);
      for (const ImU32 ground : {c.window, c.card, c.rail, c.lane}) {
        CHECK(Contrast(c.text, ground) >= 7);
        CHECK(Contrast(c.muted, ground) >= 4.5);
        CHECK(Contrast(c.good, ground) >= 4.5);
        CHECK(Contrast(c.bad, ground) >= 4.5);
        CHECK(Contrast(c.warning, ground) >= 4.5);
        CHECK(Contrast(c.accent, ground) >= 4.5);
      }
      CHECK(Contrast(c.on_accent, c.accent) >= 4.5);
    }
  }

  TEST_CASE("text on a paint is black or white, whichever is readable") {
    for (const Theme theme : {Theme::kDark, Theme::kLight}) {
      for (size_t i = 0; i < stallscope::viewmodel::kPaints; ++i) {
        const ImU32 ground = ColorOf(static_cast<Paint>(i), theme);
        CAPTURE(i);
        CHECK(Contrast(TextOn(ground), ground) >= 4.4);
      }
    }
  }

  TEST_CASE("mixing goes from one color to the other") {
    CHECK(Mixed(IM_COL32(0, 0, 0, 255), IM_COL32(200, 100, 50, 255), 0) == IM_COL32(0, 0, 0, 255));
    CHECK(Mixed(IM_COL32(0, 0, 0, 255), IM_COL32(200, 100, 50, 255), 1) ==
          IM_COL32(200, 100, 50, 255));
    CHECK(Mixed(IM_COL32(0, 0, 0, 255), IM_COL32(200, 100, 50, 255), 0.5f) ==
          IM_COL32(100, 50, 25, 255));
    CHECK(WithAlpha(IM_COL32(1, 2, 3, 255), 0) == IM_COL32(1, 2, 3, 0));
  }
}
