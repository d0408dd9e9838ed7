#include "analyzer/report/layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/base/escape.h"
#include "analyzer/base/utf8.h"

namespace stallscope::report {
namespace {

constexpr std::string_view kEllipsis = "…";

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

// 0, 1 or 2 columns on a terminal.
size_t ColumnsOf(char32_t code) {
  if (code < 0x300) return 1;
  if (In(kCombining, code)) return 0;
  return In(kWide, code) ? 2 : 1;
}

std::string GroupDigits(std::string digits) {
  const size_t first = digits.find_first_of("0123456789");
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// The longest beginning of at most `width` columns, one character at least.
std::string_view Beginning(std::string_view text, size_t width) {
  size_t columns = 0;
  size_t bytes = 0;
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    columns += ColumnsOf(character.code);
    if (columns > width && bytes > 0) return false;
    bytes += piece.size();
    return true;
  });
  return text.substr(0, bytes);
}

}  // namespace

std::string Paint(std::string_view text, Tone tone, bool colors) {
  if (!colors || tone == Tone::kPlain) return std::string(text);
  const char* code = tone == Tone::kStrong ? "1"
                     : tone == Tone::kGood ? "34"
                     : tone == Tone::kBad  ? "1;33"
                                           : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Grouped(uint64_t count) { return GroupDigits(std::to_string(count)); }

std::string ReadableBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    value /= 1024;
    unit = larger;
    if (value < 1024) break;
  }
  return fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, unit);
}

std::string ReadableNs(int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return GroupDigits(fmt::format("{:.3f} s", value / 1e9));
}

std::string ReadableNumber(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value)) return "-";
  if (size == 0) return "0";
  if (size >= 1e10 || size < 1e-4) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return GroupDigits(fmt::format("{:.0f}", value));
  return fmt::format("{:.3g}", value);
}

std::string ReadablePercent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  if (std::fabs(fraction) >= 1e6) return fmt::format("{:.3g} %", fraction * 100);
  return fmt::format("{:.1f} %", fraction * 100);
}

size_t TextWidth(std::string_view text) {
  size_t columns = 0;
  ForEachCharacter(text, [&](const Character& character, std::string_view) {
    columns += ColumnsOf(character.code);
    return true;
  });
  return columns;
}

std::string CutTo(std::string_view text, size_t width) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t columns = 0;
  size_t bytes = 0;
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    columns += ColumnsOf(character.code);
    if (columns >= width) return false;
    bytes += piece.size();
    return true;
  });
  return std::string(text.substr(0, bytes)) + std::string(kEllipsis);
}

std::string EndOf(std::string_view text, size_t width) {
  size_t columns = TextWidth(text);
  if (columns <= width) return std::string(text);
  if (width == 0) return "";
  size_t bytes = 0;
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    // What stands on a character that goes, goes with it.
    if (columns < width && ColumnsOf(character.code) > 0) return false;
    columns -= ColumnsOf(character.code);
    bytes += piece.size();
    return true;
  });
  return std::string(kEllipsis) + std::string(text.substr(bytes));
}

std::vector<std::string> Wrapped(std::string_view text, size_t width, size_t indent) {
  std::vector<std::string> lines;
  std::string rest = Printable(text);
  do {
    const size_t room = lines.empty() ? width : width - std::min(width - 1, indent);
    const std::string_view fits = Beginning(rest, room);
    size_t take = fits.size();
    // Break at the last space, unless that leaves the line half empty.
    if (take < rest.size()) {
      const size_t space = rest[take] == ' ' ? take : fits.rfind(' ');
      if (space != std::string::npos && space * 2 >= take) take = space;
    }
    lines.push_back((lines.empty() ? "" : std::string(indent, ' ')) + rest.substr(0, take));
    rest.erase(0, take);
    const size_t next = rest.find_first_not_of(' ');
    if (lines.back().find_first_not_of(' ') != std::string::npos) rest.erase(0, next);
  } while (!rest.empty());
  return lines;
}

std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width) {
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<size_t> widths;
  for (auto& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], TextWidth(row[i]));
    }
  }
  // What is too wide is taken from the widest column.
  constexpr size_t kApart = 2;
  constexpr size_t kNarrowest = 4;
  size_t total = kApart * widths.size();
  for (const size_t w : widths) total += w;
  for (; !widths.empty() && total > width; --total) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  std::string text;
  for (const auto& row : cells) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = CutTo(row[i], widths[i]);
      const std::string pad(widths[i] - std::min(widths[i], TextWidth(cell)), ' ');
      const bool to_right = std::find(right.begin(), right.end(), i) != right.end();
      line += std::string(kApart, ' ') + (to_right ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace stallscope::report
