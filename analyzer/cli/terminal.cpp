#include "analyzer/cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace stallscope::cli {
namespace {

// Columns that a text takes: one for each character of UTF-8.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string CutTo(std::string_view text, size_t width) {
  if (Width(text) <= width) return std::string(text);
  std::string cut;
  size_t taken = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins && ++taken == width) break;
    cut += c;
  }
  return cut + "…";
}

}  // namespace

bool UseColors() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

std::string Paint(std::string_view text, Tone tone, bool colors) {
  if (!colors || tone == Tone::kPlain) return std::string(text);
  const char* code = tone == Tone::kStrong ? "1"
                     : tone == Tone::kGood ? "34"
                     : tone == Tone::kBad  ? "1;33"
                                           : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Grouped(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string ReadableBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
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
  return fmt::format("{:.3f} s", value / 1e9);
}

std::string Printable(std::string_view text) {
  std::string clean(text);
  for (size_t i = 0; i < clean.size(); ++i) {
    const auto byte = static_cast<unsigned char>(clean[i]);
    // U+0080 to U+009F, which some terminals obey, are 0xc2 and one of these.
    const bool high = byte >= 0x80 && byte < 0xa0 && i > 0 && clean[i - 1] == '\xc2';
    if (byte < 0x20 || byte == 0x7f) clean[i] = '?';
    if (high) clean[i] = '\xbf';  // U+00BF, a question mark upside down
  }
  return clean;
}

std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  // What is too wide is taken from the widest column.
  constexpr size_t kApart = 2;
  constexpr size_t kNarrowest = 8;
  const auto total = [&] {
    size_t sum = kApart * widths.size();
    for (size_t w : widths) sum += w;
    return sum;
  };
  while (!widths.empty() && total() > width) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = CutTo(Printable(row[i]), widths[i]);
      const std::string pad(widths[i] - std::min(widths[i], Width(cell)), ' ');
      const bool to_right = std::find(right.begin(), right.end(), i) != right.end();
      line += std::string(kApart, ' ') + (to_right ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace stallscope::cli
