#include "analyzer/words/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/utf8.h"

namespace stallscope::words {
namespace {

constexpr std::string_view kEllipsis = "…";

struct Unit {
  double size;
  const char* name;
};
constexpr std::array<Unit, 4> kTimes = {{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
constexpr std::array<Unit, 7> kBinary = {{{1, "B"},
                                          {0x1p10, "KiB"},
                                          {0x1p20, "MiB"},
                                          {0x1p30, "GiB"},
                                          {0x1p40, "TiB"},
                                          {0x1p50, "PiB"},
                                          {0x1p60, "EiB"}}};
constexpr std::array<Unit, 5> kRates = {
    {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
constexpr std::array<Unit, 7> kFlops = {{{1, "FLOP"},
                                         {1e3, "kFLOP"},
                                         {1e6, "MFLOP"},
                                         {1e9, "GFLOP"},
                                         {1e12, "TFLOP"},
                                         {1e15, "PFLOP"},
                                         {1e18, "EFLOP"}}};

std::string GroupDigits(std::string digits) {
  const size_t first = std::min(digits.find_first_of("0123456789"), digits.size());
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t i = point; i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// 4.12, 41.2, 412, 4,123.
std::string ThreeDigits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return GroupDigits(fmt::format("{:.0f}", value));
  return fmt::format("{:.{}f}", value, size >= 9.995 ? 1 : 2);
}

// In the largest unit of which there is at least one, as it is shown: 999.6 us are 1.00 ms. What
// is less than one of the second unit is whole.
std::string InUnits(double value, std::span<const Unit> units) {
  if (!std::isfinite(value)) return std::string(kUnknown);
  if (std::fabs(value) < units[1].size - 0.5) return fmt::format("{:.0f} {}", value, units[0].name);
  size_t unit = 1;
  while (unit + 1 < units.size() && std::fabs(value) >= 0.9995 * units[unit + 1].size) ++unit;
  return ThreeDigits(value / units[unit].size) + " " + units[unit].name;
}

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

// Where to break a word that fills a line and goes on: behind a separator or before a capital, as
// paths and names in code are read, past a third of its `room` bytes; else where the room ends. An
// underscore separates only what it joins: "__getitem__" stays whole.
size_t BreakInWord(std::string_view word, size_t room) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto joins = [&](size_t at) {
    const auto is_word = [&](char c) {
      return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9');
    };
    return at > 0 && is_word(word[at - 1]) && is_word(word[at + 1]);
  };
  for (size_t at = room; at * 3 > room; --at) {
    const char last = word[at - 1];
    const bool separated = last == '_'
                               ? joins(at - 1)
                               : std::string_view("/-.,:=").find(last) != std::string_view::npos;
    if (separated || (is_lower(last) && is_upper(word[at]))) return at;
  }
  return room;
}

}  // namespace

std::string Grouped(uint64_t count) { return GroupDigits(std::to_string(count)); }

std::string Counted(uint64_t count, std::string_view one, std::string_view many) {
  std::string text = Grouped(count) + " ";
  if (count != 1 && !many.empty()) return text.append(many);
  return text.append(one) + (count == 1 ? "" : "s");
}

std::string Number(double value) {
  const double size = std::fabs(value);
  if (!std::isfinite(value)) return std::string(kUnknown);
  if (size == 0) return "0";
  if (size >= 1e10 || size < 1e-4) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return GroupDigits(fmt::format("{:.0f}", value));
  return fmt::format("{:.3g}", value);
}

std::string Percent(double fraction) {
  const double percent = 100 * fraction;
  if (!std::isfinite(percent)) return std::string(kUnknown);
  if (std::fabs(percent) < 0.05) return "0.0%";  // never "-0.0%"
  if (std::fabs(percent) >= 1e8) return fmt::format("{:.3g}%", percent);
  if (std::fabs(percent) >= 99.95) return GroupDigits(fmt::format("{:.0f}", percent)) + "%";
  return fmt::format("{:.1f}%", percent);
}

std::string SignedPercent(double fraction) {
  return (fraction > -0.0005 ? "+" : "") + Percent(fraction);
}

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

std::string Duration(double ns) { return InUnits(ns, kTimes); }

std::string ExactNs(int64_t ns) {
  const uint64_t size = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return (ns < 0 ? "-" : "") + Grouped(size) + " ns";
}

std::string BothNs(int64_t ns) {
  if (ns > -1'000 && ns < 1'000) return ExactNs(ns);
  return Duration(ns) + " (" + ExactNs(ns) + ")";
}

std::string TimeAt(int64_t time_ns, int64_t origin_ns, int64_t step_ns) {
  const int64_t ns = time_ns - origin_ns;
  int digits = 0;
  for (int64_t unit = 1'000'000'000; unit > std::max<int64_t>(step_ns, 1) && digits < 9;
       unit /= 10) {
    ++digits;
  }
  // Short ones in milliseconds or microseconds: digits that are all 0 tell nothing.
  const int64_t size = ns < 0 ? -ns : ns;
  if (size < 1'000'000 && digits > 3) {
    return fmt::format("{:.{}f} us", static_cast<double>(ns) / 1e3, std::max(digits - 6, 0));
  }
  if (size < 1'000'000'000 && digits > 0) {
    return fmt::format("{:.{}f} ms", static_cast<double>(ns) / 1e6, std::max(digits - 3, 0));
  }
  return fmt::format("{:.{}f} s", static_cast<double>(ns) / 1e9, digits);
}

std::string Bytes(double bytes) { return InUnits(bytes, kBinary); }

std::string BytesPerSecond(double bytes_per_s) { return InUnits(bytes_per_s, kRates); }

std::string Flops(double flops) { return InUnits(flops, kFlops); }

std::string Rate(double per_s) { return Number(per_s) + "/s"; }

std::string CountOrDash(const std::optional<uint64_t>& count) {
  return count ? Grouped(*count) : std::string(kUnknown);
}

std::string NumberOrDash(const std::optional<double>& value) {
  return value ? Number(*value) : std::string(kUnknown);
}

std::string PercentOrDash(const std::optional<double>& fraction) {
  return fraction ? Percent(*fraction) : std::string(kUnknown);
}

std::string BytesOrDash(const std::optional<uint64_t>& bytes) {
  return bytes ? Bytes(*bytes) : std::string(kUnknown);
}

std::string MillisecondsOrDash(const std::optional<double>& ms) {
  return ms.has_value() ? Duration(*ms * 1e6) : std::string(kUnknown);
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
    // A combining character is cut with the character that it modifies.
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
    // Break at the last space, unless that leaves the line half empty for a word that is cut
    // anyway.
    if (take < rest.size()) {
      const size_t space = rest[take] == ' ' ? take : fits.rfind(' ');
      const size_t word_end = std::min(rest.find(' ', take), rest.size());
      if (space != std::string::npos && space > 0 &&
          (space * 2 >= take ||
           TextWidth(std::string_view(rest).substr(space + 1, word_end - space - 1)) + indent <=
               width)) {
        take = space;
      } else {
        const size_t begin = space == std::string::npos ? 0 : space + 1;
        take = begin + BreakInWord(std::string_view(rest).substr(begin), take - begin);
      }
    }
    lines.push_back((lines.empty() ? "" : std::string(indent, ' ')) + rest.substr(0, take));
    rest.erase(0, take);
    const size_t next = rest.find_first_not_of(' ');
    if (lines.back().find_first_not_of(' ') != std::string::npos) rest.erase(0, next);
  } while (!rest.empty());
  return lines;
}

std::string PlaceInCode(std::string_view file, uint32_t line) {
  return WholePlace(file.substr(file.rfind('/') + 1), line);
}

std::string WholePlace(std::string_view file, uint32_t line) {
  return file.empty() ? "" : std::string(file) + ":" + std::to_string(line);
}

namespace {

// A line without its file and its numbers, and the numbers.
struct Kind {
  std::string form;
  std::vector<std::pair<double, std::string>> numbers;  // with the text of each
};

Kind KindOf(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon != std::string_view::npos &&
      line.substr(0, colon).find(' ') == std::string_view::npos) {
    line.remove_prefix(colon);
  }
  const auto digit = [&](size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  Kind kind;
  for (size_t at = 0; at < line.size();) {
    const bool sign = line[at] == '-' && digit(at + 1) && (at == 0 || line[at - 1] == ' ');
    if (!sign && !digit(at)) {
      kind.form += line[at++];
      continue;
    }
    const size_t begin = at;
    std::string plain;
    do {
      if (line[at] != ',') plain += line[at];
      ++at;
    } while (digit(at) ||
             (digit(at + 1) && at < line.size() && (line[at] == ',' || line[at] == '.')));
    kind.form += '\0';
    kind.numbers.emplace_back(std::strtod(plain.c_str(), nullptr), line.substr(begin, at - begin));
  }
  return kind;
}

// "3 to 90, 0.1 to 4.5": of each number that is not always the same.
std::string Extremes(const std::vector<Kind>& kinds) {
  std::string text;
  for (size_t i = 0; i < kinds[0].numbers.size(); ++i) {
    const auto [least, most] = std::minmax_element(
        kinds.begin(), kinds.end(),
        [&](const Kind& a, const Kind& b) { return a.numbers[i].first < b.numbers[i].first; });
    if (!(least->numbers[i].first < most->numbers[i].first)) continue;
    text +=
        (text.empty() ? ": " : ", ") + least->numbers[i].second + " to " + most->numbers[i].second;
  }
  return text;
}

}  // namespace

std::vector<std::string> Condensed(const std::vector<std::string>& lines) {
  constexpr size_t kFewest = 3;
  std::map<std::string, std::vector<Kind>> kinds;
  std::vector<std::pair<const std::vector<Kind>*, bool>> of;  // per line: its kind, and the first
  for (const std::string& line : lines) {
    Kind kind = KindOf(line);
    std::vector<Kind>& alike = kinds[kind.form];
    of.emplace_back(&alike, alike.empty());
    alike.push_back(std::move(kind));
  }
  std::vector<std::string> condensed;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const auto& [kind, first] = of[i];
    const std::vector<Kind>& alike = *kind;
    if (alike.size() < kFewest) {
      condensed.push_back(line);
    } else if (first) {
      condensed.push_back(line + " (and " + Grouped(alike.size() - 1) + " more of this kind" +
                          Extremes(alike) + ")");
    }
  }
  return condensed;
}

}  // namespace stallscope::words
