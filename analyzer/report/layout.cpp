#include "analyzer/report/layout.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/words/words.h"

namespace stallscope::report {

std::string Paint(std::string_view text, Tone tone, bool colors) {
  if (!colors || tone == Tone::kPlain) return std::string(text);
  const char* code = tone == Tone::kStrong ? "1"
                     : tone == Tone::kGood ? "34"
                     : tone == Tone::kBad  ? "1;33"
                                           : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right, size_t width) {
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<size_t> widths;
  for (auto& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], words::TextWidth(row[i]));
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
      const std::string cell = words::CutTo(row[i], widths[i]);
      const std::string pad(widths[i] - std::min(widths[i], words::TextWidth(cell)), ' ');
      const bool to_right = std::find(right.begin(), right.end(), i) != right.end();
      line += std::string(kApart, ' ') + (to_right ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace stallscope::report
