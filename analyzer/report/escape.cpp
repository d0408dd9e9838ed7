#include "analyzer/report/escape.h"

#include <algorithm>
#include <cctype>

#include "analyzer/report/layout.h"

namespace stallscope::report {
namespace {

// Calls line(text, whether another follows) for each.
template <class Line>
void ForEachLine(std::string_view text, Line&& line) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    line(text.substr(at, end - at), end != text.size());
    at = end + 1;
  }
}

// Printable, with tabs and line feeds; the carriage return in front of one is dropped.
std::string PrintableLines(std::string_view text) {
  std::string clean;
  ForEachLine(text, [&](std::string_view line, bool more) {
    if (more && line.ends_with('\r')) line.remove_suffix(1);
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find('\t', at), line.size());
      clean += Printable(line.substr(at, end - at));
      if (end != line.size()) clean += '\t';
      at = end + 1;
    }
    if (more) clean += '\n';
  });
  return clean;
}

std::string Entities(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  // U+FFFE and U+FFFF are characters of UTF-8, but none of XML.
  for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at = 0; (at = escaped.find(none, at)) != std::string::npos;) {
      escaped.replace(at, 3, "?");
    }
  }
  return escaped;
}

size_t LongestRun(std::string_view text, char of) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = c == of ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string EscapeMarkup(std::string_view text) { return Entities(Printable(text)); }
std::string EscapeMarkupLines(std::string_view text) { return Entities(PrintableLines(text)); }

std::string EscapeMarkdown(std::string_view text) {
  const std::string clean = Printable(text);
  const auto is_word = [&](size_t at) {
    return at < clean.size() && std::isalnum(static_cast<unsigned char>(clean[at])) != 0;
  };
  std::string escaped;
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    // Entities rather than backslashes: they hold also where a reader takes Markdown for HTML.
    if (c == '<' || c == '>' || c == '&') {
      escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
      continue;
    }
    bool special = std::string_view("\\`*{}[]#|~").find(c) != std::string_view::npos;
    // What would become a link by itself: "://" and "www.". An underscore inside a word is plain.
    if (c == ':') special = clean.compare(i, 2, ":/") == 0;
    if (c == '.') special = i >= 3 && clean.compare(i - 3, 3, "www") == 0;
    if (c == '_') special = i == 0 || !is_word(i - 1) || !is_word(i + 1);
    if (special) escaped += '\\';
    escaped += c;
    if (c == '@') escaped += "\u200b";
  }
  return escaped;
}

std::string MarkdownCode(std::string_view text) {
  std::string clean = Printable(text);
  if (clean.find_first_not_of(' ') == std::string::npos) return "-";
  const std::string fence(LongestRun(clean, '`') + 1, '`');
  const std::string_view pad = fence.size() > 1 ? " " : "";
  for (size_t at = 0; (at = clean.find('|', at)) != std::string::npos; at += 2) {
    clean.insert(at, "\\");
  }
  return fence + std::string(pad) + clean + std::string(pad) + fence;
}

std::string MarkdownBlock(std::string_view language, std::string_view code) {
  const std::string clean = PrintableLines(code);
  const std::string fence(std::max<size_t>(LongestRun(clean, '`') + 1, 3), '`');
  return fence + std::string(language) + "\n" + clean + "\n" + fence + "\n";
}

}  // namespace stallscope::report
