#include "analyzer/base/escape.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/base/utf8.h"

namespace stallscope {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 11> kSteering = {{{0x00, 0x1f},
                                              {0x7f, 0x9f},
                                              {0x00ad, 0x00ad},
                                              {0x061c, 0x061c},
                                              {0x180e, 0x180e},
                                              {0x200b, 0x200f},
                                              {0x2028, 0x202e},
                                              {0x2060, 0x206f},
                                              {0xfeff, 0xfeff},
                                              {0xfff9, 0xfffb},
                                              {0xe0000, 0xe007f}}};

bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7f; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }

// Valid UTF-8 without steering characters other than those of `kept`.
std::string Clean(std::string_view text, std::string_view kept) {
  std::string clean;
  clean.reserve(text.size());
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    if (!character.valid) {
      clean += kReplacement;
    } else if (IsSteering(character.code) && kept.find(piece) == std::string_view::npos) {
      clean += '?';
    } else {
      clean += piece;
    }
    return true;
  });
  return clean;
}

// For text that is already clean.
std::string Entities(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    switch (character.code) {
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
      case 0xfffe:  // valid UTF-8, but not XML
      case 0xffff:
        escaped += '?';
        break;
      default:
        escaped += piece;
    }
    return true;
  });
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

// If the first character of `text` could begin a block (a list, a rule, a heading's underline), the
// byte that needs a backslash to prevent that.
size_t BlockMark(std::string_view text) {
  constexpr size_t kNone = std::string_view::npos;
  if (text.size() < 2) return kNone;
  if (std::string_view("-+=").find(text[0]) != kNone) {
    return text[1] == ' ' || text[1] == text[0] ? 0 : kNone;
  }
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits == text.size() || (text[digits] != '.' && text[digits] != ')')) {
    return kNone;
  }
  return digits + 1 == text.size() || text[digits + 1] == ' ' ? digits : kNone;
}

void AppendCode(char32_t code, std::string& to) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += kDigits[code >> shift & 0xf];
}

// As JSON escapes it; past U+FFFF, as a pair of surrogates.
void AppendJsonCode(char32_t code, std::string& to) {
  if (code < 0x10000) return AppendCode(code, to);
  AppendCode(0xd800 + ((code - 0x10000) >> 10), to);
  AppendCode(0xdc00 + ((code - 0x10000) & 0x3ff), to);
}

// A sign, digits with points and commas, an exponent, a unit: a spreadsheet reads that as a number,
// or as text.
bool IsSignedNumber(std::string_view text) {
  size_t at = 1;
  const auto skip = [&](std::string_view of) {
    at = std::min(text.find_first_not_of(of, at), text.size());
  };
  if (at < text.size() && text[at] == '.') ++at;
  if (at == text.size() || !IsDigit(text[at])) return false;
  skip("0123456789.,");
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    skip("0123456789");
  }
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(),
                     [](char c) { return c == ' ' || c == '%' || c == '/' || IsLetter(c); });
}

// Whether a spreadsheet would read `text`, without the quotes in front, as more than text.
bool NeedsQuote(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  if (text.empty()) return false;
  if (text[0] == '+' || text[0] == '-') return !IsSignedNumber(text);
  if (std::string_view("=@\t\r\n").find(text[0]) != std::string_view::npos) return true;
  switch (CharacterAt(text, 0).code) {
    case 0xff1d:  // fullwidth =, +, -, @: some spreadsheets read them as the plain
    case 0xff0b:
    case 0xff0d:
    case 0xff20:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsSteering(char32_t code) {
  if (code >= 0x20 && code < 0x7f) return false;
  return std::any_of(kSteering.begin(), kSteering.end(),
                     [&](const Range& r) { return r.first <= code && code <= r.last; });
}

std::string Printable(std::string_view text) { return Clean(text, ""); }

std::string PrintableLines(std::string_view text) {
  std::string lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (end != text.size() && line.ends_with('\r')) line.remove_suffix(1);
    lines += Clean(line, "\t");
    if (end != text.size()) lines += '\n';
    at = end + 1;
  }
  return lines;
}

std::string ShellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  // zsh replaces a word that begins with "=" by a program's path.
  const bool plain = !word.empty() && word.front() != '=' &&
                     word.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + ShellWord(word);
  return text;
}

std::string EscapeMarkup(std::string_view text) { return Entities(Printable(text)); }
std::string EscapeMarkupLines(std::string_view text) { return Entities(PrintableLines(text)); }

std::string EscapeMarkdown(std::string_view text) {
  const std::string clean = Printable(text);
  const auto at = [&](size_t i) { return i < clean.size() ? clean[i] : '\0'; };
  const size_t block_mark = BlockMark(clean);
  std::string escaped;
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    // Entities instead of backslashes: they work even if a reader treats Markdown as HTML, or looks
    // for "$" before backslashes.
    std::string_view entity;
    if (c == '<') entity = "&lt;";
    if (c == '>') entity = "&gt;";
    if (c == '&') entity = "&amp;";
    if (c == '$') entity = "&#36;";
    // Four in front would begin a block of code.
    if (c == ' ' && i == 0) entity = "&#32;";
    // Readers disagree whether "\\|" ends the cell of a table.
    if (c == '|' && i > 0 && clean[i - 1] == '\\') entity = "&#124;";
    if (!entity.empty()) {
      escaped += entity;
      continue;
    }
    bool special = i == block_mark || std::string_view("\\`*{}[]#|~").find(c) != std::string::npos;
    // What would turn into a link: "://" and "www.". An underscore inside a word is harmless.
    if (c == ':') special = at(i + 1) == '/';
    if (c == '.' && i >= 3) special = special || clean.compare(i - 3, 3, "www") == 0;
    if (c == '_') special = i == 0 || !IsAlphanumeric(at(i - 1)) || !IsAlphanumeric(at(i + 1));
    if (special) escaped += '\\';
    escaped += c;
    // Mentions and references are resolved after the Markdown: no backslash helps.
    if (c == '@' || (c == '#' && IsDigit(at(i + 1)))) escaped += "\u200b";
  }
  return escaped;
}

std::string MarkdownCode(std::string_view text) {
  std::string clean = Printable(text);
  if (clean.find_first_not_of(' ') == std::string::npos) return "-";
  // In a table, a code span can contain a bar only after a backslash, and no backslash before one.
  if (clean.find("\\|") != std::string::npos) return "<code>" + EscapeMarkdown(text) + "</code>";
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

void AppendJsonEscaped(std::string_view text, std::string& to) {
  // Exports write millions of names, nearly all of them like this.
  const auto is_plain = [](char c) { return IsPlainAscii(c) && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    to += text;
    return;
  }
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    if (!character.valid) {
      AppendJsonCode(0xfffd, to);
    } else if (IsSteering(character.code)) {
      AppendJsonCode(character.code, to);
    } else {
      if (character.code == '"' || character.code == '\\') to += '\\';
      to += piece;
    }
    return true;
  });
}

std::string PlainJson(std::string json) {
  // Nearly all of it is ASCII, where serializers leave only DEL unescaped.
  const auto is_plain = [](char c) { return IsPlainAscii(c) || c == '\n'; };
  if (std::all_of(json.begin(), json.end(), is_plain)) return json;
  std::string plain;
  plain.reserve(json.size() + 16);
  ForEachCharacter(json, [&](const Character& character, std::string_view piece) {
    // Below U+0020 JSON text has white space only.
    if (!character.valid) {
      AppendJsonCode(0xfffd, plain);
    } else if (character.code >= 0x20 && IsSteering(character.code)) {
      AppendJsonCode(character.code, plain);
    } else {
      plain += piece;
    }
    return true;
  });
  return plain;
}

std::string SarifText(std::string_view text) {
  std::string escaped;
  size_t backslashes = 0;  // directly before the character
  for (size_t i = 0; i < text.size(); ++i) {
    // Escaping every bracket would spoil messages for readers that show them verbatim; without "]("
    // there is no link. A preceding backslash must not escape ours.
    if (text[i] == ']' && i + 1 < text.size() && text[i + 1] == '(') {
      escaped += std::string(backslashes + 1, '\\');
    }
    backslashes = text[i] == '\\' ? backslashes + 1 : 0;
    escaped += text[i];
  }
  return escaped;
}

std::string SarifUri(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsAlphanumeric(c) || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += {'%', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
  }
  return uri.empty() ? "." : uri;
}

void AppendCsvField(std::string_view text, std::string& to) {
  std::string clean;
  if (!std::all_of(text.begin(), text.end(), IsPlainAscii)) {
    clean = Clean(text, "\t\r\n");
    text = clean;
  }
  const std::string_view quote = NeedsQuote(text) ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    to.append(quote).append(text);
    return;
  }
  to.append("\"").append(quote);
  for (const char c : text) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

std::string TsvField(std::string_view text) {
  std::string field = Clean(text, "\t\r\n");
  if (NeedsQuote(field)) field.insert(0, "'");
  std::replace_if(
      field.begin(), field.end(), [](char c) { return c == '\t' || c == '\r' || c == '\n'; }, ' ');
  return field;
}

}  // namespace stallscope
