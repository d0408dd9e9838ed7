#include "analyzer/findings/changed_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace stallscope::findings {
namespace {

constexpr size_t kContext = 3;                     // lines around a change, as in diff -u
constexpr size_t kMostCompared = size_t{1} << 20;  // old lines times new lines

// A line of one side, or of both.
struct DiffLine {
  char sign = ' ';
  std::string_view text;
};

// Trims what both sides have in common at the beginning and the end.
struct CommonEnds {
  size_t above = 0;
  size_t below = 0;
};
CommonEnds CommonEndsOf(const std::vector<std::string_view>& before,
                        const std::vector<std::string_view>& after) {
  const size_t most = std::min(before.size(), after.size());
  CommonEnds ends;
  while (ends.above < most && before[ends.above] == after[ends.above]) ++ends.above;
  while (ends.above + ends.below < most &&
         before[before.size() - 1 - ends.below] == after[after.size() - 1 - ends.below]) {
    ++ends.below;
  }
  return ends;
}

// Keeps the longest common lines. Texts longer than any call are replaced whole.
std::vector<DiffLine> ComparedMiddles(std::span<const std::string_view> before,
                                      std::span<const std::string_view> after) {
  std::vector<DiffLine> lines;
  const size_t n = before.size();
  const size_t m = after.size();
  const bool few = n * m <= kMostCompared;
  std::vector<std::vector<uint32_t>> common(few ? n + 1 : 0, std::vector<uint32_t>(m + 1, 0));
  for (size_t i = n; few && i-- > 0;) {
    for (size_t k = m; k-- > 0;) {
      common[i][k] = before[i] == after[k] ? common[i + 1][k + 1] + 1
                                           : std::max(common[i + 1][k], common[i][k + 1]);
    }
  }
  size_t i = 0;
  size_t k = 0;
  while (i < n || k < m) {
    if (few && i < n && k < m && before[i] == after[k]) {
      lines.push_back({' ', before[i++]});
      ++k;
    } else if (i < n && (k == m || !few || common[i + 1][k] >= common[i][k + 1])) {
      lines.push_back({'-', before[i++]});
    } else {
      lines.push_back({'+', after[k++]});
    }
  }
  return lines;
}

std::vector<DiffLine> Compared(std::string_view before, std::string_view after) {
  const auto old_lines = LinesOf(before);
  const auto new_lines = LinesOf(after);
  const CommonEnds ends = CommonEndsOf(old_lines, new_lines);
  const auto middle = [&](const std::vector<std::string_view>& all) {
    return std::span(all).subspan(ends.above, all.size() - ends.above - ends.below);
  };
  std::vector<DiffLine> lines;
  for (size_t i = 0; i < ends.above; ++i) lines.push_back({' ', old_lines[i]});
  for (const DiffLine& line : ComparedMiddles(middle(old_lines), middle(new_lines))) {
    lines.push_back(line);
  }
  for (size_t i = old_lines.size() - ends.below; i < old_lines.size(); ++i) {
    lines.push_back({' ', old_lines[i]});
  }
  return lines;
}

// One hunk per change; `shift`: by how many lines the hunks above have moved this one.
std::string HunkOf(const ChangedLines& lines, int64_t& shift) {
  const auto all = Compared(lines.before, lines.after);
  const auto changed = [](const DiffLine& line) { return line.sign != ' '; };
  const auto first = std::find_if(all.begin(), all.end(), changed);
  if (first == all.end()) return "";
  const auto last = std::find_if(all.rbegin(), all.rend(), changed).base();
  const auto above = std::min<size_t>(kContext, static_cast<size_t>(first - all.begin()));
  auto below = std::min<size_t>(kContext, static_cast<size_t>(all.end() - last));
  // For patch, fewer context lines on one side mean the beginning or the end of the file. A trace
  // has fewer lines after a call only at the end of its file.
  const bool at_top = lines.line == 1 && first - all.begin() == static_cast<std::ptrdiff_t>(above);
  if (above < below && !at_top) below = above;
  const auto begin = first - static_cast<std::ptrdiff_t>(above);
  const auto end = last + static_cast<std::ptrdiff_t>(below);
  std::string body;
  int64_t removed = 0;
  int64_t added = 0;
  for (auto line = begin; line != end; ++line) {
    removed += line->sign != '+' ? 1 : 0;
    added += line->sign != '-' ? 1 : 0;
    body += line->sign;
    body += line->text;
    if (!line->text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  const int64_t from = lines.line + (begin - all.begin());
  std::string hunk =
      fmt::format("@@ -{},{} +{},{} @@\n", from, removed, from + shift, added) + body;
  shift += added - removed;
  return hunk;
}

// Relative to the root of the checkout that the job ran in, as in git and in reviews. A file
// outside of it: relative to the job's folder, or else to the root. Empty if a diff cannot have the
// name.
std::string PathInDiff(const std::string& file, const trace::RunInfo& run) {
  const bool plain = std::none_of(file.begin(), file.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f;
  });
  if (!plain || !file.starts_with('/')) return "";
  for (const std::string& folder : {run.job.checkout, run.folder}) {
    const std::string below = folder.ends_with('/') ? folder : folder + "/";
    if (!folder.empty() && file.starts_with(below)) return file.substr(below.size());
  }
  return file.substr(1);
}

}  // namespace

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::optional<size_t> OffsetOf(const ChangedLines& lines, uint32_t line, uint32_t column) {
  if (line < lines.line) return std::nullopt;
  size_t at = 0;
  for (uint32_t before = lines.line; before < line; ++before) {
    at = lines.before.find('\n', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  const size_t end = std::min(lines.before.find('\n', at), lines.before.size());
  if (at >= lines.before.size() || column > end - at) return std::nullopt;
  return at + column;
}

Replacement ReplacementOf(const ChangedLines& lines) {
  const auto before = LinesOf(lines.before);
  const auto after = LinesOf(lines.after);
  const CommonEnds ends = CommonEndsOf(before, after);
  Replacement replacement;
  replacement.first = lines.line + static_cast<uint32_t>(ends.above);
  replacement.last = lines.line + static_cast<uint32_t>(before.size() - ends.below) - 1;
  for (size_t i = ends.above; i + ends.below < after.size(); ++i) replacement.text += after[i];
  return replacement;
}

std::string UnifiedDiff(const std::string& file, const std::vector<ChangedLines>& changed,
                        const trace::RunInfo& run) {
  const std::string path = PathInDiff(file, run);
  if (path.empty()) return "";
  std::string hunks;
  int64_t shift = 0;
  for (const ChangedLines& lines : changed) hunks += HunkOf(lines, shift);
  // A tab ends a name that has blanks.
  const std::string end = path.find(' ') == std::string::npos ? "\n" : "\t\n";
  return hunks.empty() ? "" : "--- a/" + path + end + "+++ b/" + path + end + hunks;
}

}  // namespace stallscope::findings
