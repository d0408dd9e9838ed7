#include "analyzer/report/characters.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace stallscope::report {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

template <size_t N>
bool In(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& r) { return r.first <= code && code <= r.last; });
}

// The blocks that matter of Unicode's East Asian Width: W and F.
constexpr std::array<Range, 16> kWide = {{{0x1100, 0x115f},
                                          {0x231a, 0x231b},
                                          {0x23e9, 0x23ec},
                                          {0x25fd, 0x25fe},
                                          {0x2e80, 0x303e},
                                          {0x3041, 0x33ff},
                                          {0x3400, 0x4dbf},
                                          {0x4e00, 0x9fff},
                                          {0xa000, 0xa4cf},
                                          {0xa960, 0xa97f},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff00, 0xff60},
                                          {0xffe0, 0xffe6},
                                          {0x1f000, 0x3fffd}}};

constexpr std::array<Range, 12> kCombining = {{{0x0300, 0x036f},
                                               {0x0483, 0x0489},
                                               {0x0591, 0x05bd},
                                               {0x0610, 0x061a},
                                               {0x064b, 0x065f},
                                               {0x0e34, 0x0e3a},
                                               {0x0e47, 0x0e4e},
                                               {0x1ab0, 0x1aff},
                                               {0x1dc0, 0x1dff},
                                               {0x20d0, 0x20f0},
                                               {0xfe00, 0xfe0f},
                                               {0xfe20, 0xfe2f}}};

// Besides C0 and C1: separators of lines, marks and isolates of direction, what is invisible.
constexpr std::array<Range, 8> kSteering = {{{0x00, 0x1f},
                                             {0x7f, 0x9f},
                                             {0x00ad, 0x00ad},
                                             {0x061c, 0x061c},
                                             {0x200b, 0x200f},
                                             {0x2028, 0x202e},
                                             {0x2060, 0x206f},
                                             {0xfeff, 0xfeff}}};

}  // namespace

Character CharacterAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {};
  char32_t code = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {};
  return {code, length, true};
}

size_t ColumnsOf(char32_t code) {
  if (code < 0x300) return 1;
  if (In(kCombining, code)) return 0;
  return In(kWide, code) ? 2 : 1;
}

bool IsControl(char32_t code) { return In(kSteering, code); }

}  // namespace stallscope::report
