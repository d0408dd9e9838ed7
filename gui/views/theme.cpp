#include "gui/views/theme.h"

#include <array>
#include <cmath>

namespace stallscope::views {
namespace {

using viewmodel::Paint;

constexpr ImU32 Rgb(uint32_t rgb) {
  return IM_COL32(rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255, 255);
}

constexpr Colors kDark = {
    .window = Rgb(0x14171c),
    .rail = Rgb(0x191d23),
    .card = Rgb(0x1f242c),
    .raised = Rgb(0x2c333e),
    .border = Rgb(0x363e4a),
    .text = Rgb(0xe8ebf0),
    .muted = Rgb(0xa8b2c0),
    .faint = Rgb(0x75808f),
    .accent = Rgb(0x58a6ff),
    .on_accent = Rgb(0x0b1017),
    .good = Rgb(0x46c296),
    .warning = Rgb(0xe6b04a),
    .bad = Rgb(0xff7a6e),
    .lane = Rgb(0x1b2027),
    .grid = Rgb(0x272d36),
    .hatch = IM_COL32(255, 255, 255, 46),
};

constexpr Colors kLight = {
    .window = Rgb(0xeff1f4),
    .rail = Rgb(0xe6e9ee),
    .card = Rgb(0xffffff),
    .raised = Rgb(0xdfe4ea),
    .border = Rgb(0xcdd4dc),
    .text = Rgb(0x1a2029),
    .muted = Rgb(0x525d6b),
    .faint = Rgb(0x7d8896),
    .accent = Rgb(0x0b62c0),
    .on_accent = Rgb(0xffffff),
    .good = Rgb(0x0a7450),
    .warning = Rgb(0x8a5d00),
    .bad = Rgb(0xbf2a1e),
    .lane = Rgb(0xf5f6f8),
    .grid = Rgb(0xdde1e7),
    .hatch = IM_COL32(0, 0, 0, 40),
};

// In the order of Paint. The first seven match the reports.
constexpr std::array<ImU32, viewmodel::kPaints> kPaintColors = {
    Rgb(0x009e73), Rgb(0xcc79a7), Rgb(0x56b4e9), Rgb(0xf0e442), Rgb(0xd55e00), Rgb(0x0072b2),
    Rgb(0x999999), Rgb(0x808080), Rgb(0xb08968), Rgb(0x8d86c9), Rgb(0xc44536), Rgb(0x4d9078),
    Rgb(0x9d4edd), Rgb(0x8d99ae), Rgb(0x5390d9), Rgb(0x6c9a8b), Rgb(0xffffff), Rgb(0xff4d00),
    Rgb(0xe01e8c), Rgb(0x4b5666), Rgb(0x5c6879), Rgb(0x4477aa), Rgb(0x66ccee), Rgb(0x228833),
    Rgb(0xccbb44), Rgb(0xee6677), Rgb(0xaa3377), Rgb(0x44aa99), Rgb(0xbbbbbb)};

float Linear(ImU32 byte) {
  const float value = static_cast<float>(byte & 255) / 255;
  return std::pow(value, 2.2f);
}

}  // namespace

const Colors& ColorsOf(session::Theme theme) {
  return theme == session::Theme::kDark ? kDark : kLight;
}

ImU32 ColorOf(Paint paint, session::Theme theme) {
  const bool dark = theme == session::Theme::kDark;
  if (paint == Paint::kSelected) return dark ? Rgb(0xffffff) : Rgb(0x000000);
  // Blue on black and yellow on white would be too faint.
  if (paint == Paint::kSync && dark) return Rgb(0x2d8fd0);
  if (paint == Paint::kLaunch && !dark) return Rgb(0xdccb1e);
  // Steps have numbers and take no meaningful color.
  if (paint == Paint::kEvenStep && !dark) return Rgb(0xc9d1db);
  if (paint == Paint::kOddStep && !dark) return Rgb(0xb4becb);
  if (paint == Paint::kNothing) return ColorsOf(theme).lane;
  return kPaintColors[static_cast<size_t>(paint)];
}

ImU32 TextOn(ImU32 background) {
  const float light = 0.2126f * Linear(background) + 0.7152f * Linear(background >> 8) +
                      0.0722f * Linear(background >> 16);
  // The point of equal contrast: (L + 0.05)^2 = (0.0056 + 0.05) x 1.05.
  return light > 0.192f ? IM_COL32(14, 17, 22, 255) : IM_COL32(255, 255, 255, 255);
}

ImU32 Mixed(ImU32 from, ImU32 to, float part) {
  ImU32 mixed = IM_COL32_A_MASK;
  for (int shift = 0; shift < 24; shift += 8) {
    const auto a = static_cast<float>(from >> shift & 255);
    const auto b = static_cast<float>(to >> shift & 255);
    mixed |= static_cast<ImU32>(std::lround(a + (b - a) * part)) << shift;
  }
  return mixed;
}

ImU32 WithAlpha(ImU32 color, float alpha) {
  return (color & ~IM_COL32_A_MASK) | static_cast<ImU32>(std::lround(alpha * 255)) << 24;
}

}  // namespace stallscope::views
