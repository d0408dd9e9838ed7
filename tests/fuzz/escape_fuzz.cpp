// For any bytes, each escaped form is valid UTF-8, contains nothing that the form's reader would
// obey, and reads back as the text with its steering characters replaced.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/result.h"
#include "analyzer/base/utf8.h"
#include "tests/fuzz/expect.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void ReplaceAll(std::string& text, std::string_view part, std::string_view with) {
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += with.size()) {
    text.replace(at, part.size(), with);
  }
}

// The length of the character at text[at] by the table of the Unicode standard (3-7), which bounds
// the second byte by the first: the unit under test computes the code instead. 0: none.
size_t LengthAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// Valid UTF-8 without forbidden characters. `allowed` are the form's own controls.
void ExpectSound(std::string_view text, std::string_view allowed = "") {
  for (size_t at = 0; at < text.size();) {
    if (text[at] >= 0x20 && text[at] < 0x7f) {  // nearly all of it
      ++at;
      continue;
    }
    const size_t length = LengthAt(text, at);
    STALLSCOPE_EXPECT(length != 0);
    const std::string_view piece = text.substr(at, length);
    if (length == 1 && (piece[0] < 0x20 || piece[0] == 0x7f))
      STALLSCOPE_EXPECT(Has(allowed, piece));
    STALLSCOPE_EXPECT(length != 2 || piece >= "\u00a0");                     // C1
    STALLSCOPE_EXPECT(length != 3 || piece < "\u2028" || piece > "\u202e");  // overrides
    STALLSCOPE_EXPECT(length != 3 || piece < "\u2060" || piece > "\u206f");  // isolates
    at += length;
  }
}

// The text with U+FFFD for invalid UTF-8, and `mark` for steering characters not in `kept`.
std::string Cleaned(std::string_view text, std::string_view mark, std::string_view kept) {
  std::string clean;
  ForEachCharacter(text, [&](const Character& character, std::string_view piece) {
    const bool steers = IsSteering(character.code) && !Has(kept, piece) && !mark.empty();
    clean += !character.valid ? "\ufffd" : steers ? mark : piece;
    return true;
  });
  return clean;
}

void TryTerminal(std::string_view text) {
  const std::string line = Printable(text);
  ExpectSound(line);
  STALLSCOPE_EXPECT(Printable(line) == line);
  STALLSCOPE_EXPECT(line == Cleaned(text, "?", ""));
  const std::string lines = PrintableLines(text);
  ExpectSound(lines, "\n\t");
  STALLSCOPE_EXPECT(PrintableLines(lines) == lines);
  const std::string whole(text);
  ExpectSound(Error{ErrorKind::kInput, whole, whole, whole}.Line());
}

void TryMarkup(std::string_view text) {
  std::string markup = EscapeMarkup(text);
  ExpectSound(markup);
  ExpectSound(EscapeMarkupLines(text), "\n\t");
  STALLSCOPE_EXPECT(markup.find_first_of("<>\"'") == std::string::npos);
  for (size_t at = 0; (at = markup.find('&', at)) != std::string::npos; ++at) {
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      known = known || std::string_view(markup).substr(at).starts_with(entity);
    }
    STALLSCOPE_EXPECT(known);
  }
  ReplaceAll(markup, "&lt;", "<");
  ReplaceAll(markup, "&gt;", ">");
  ReplaceAll(markup, "&quot;", "\"");
  ReplaceAll(markup, "&#39;", "'");
  ReplaceAll(markup, "&amp;", "&");
  std::string wanted = Printable(text);
  ReplaceAll(wanted, "\ufffe", "?");
  ReplaceAll(wanted, "\uffff", "?");
  STALLSCOPE_EXPECT(markup == wanted);
}

// No bar ends a table's cell, whether a reader pairs backslashes or looks one byte back.
void ExpectNoBar(std::string_view row) {
  bool escaped = false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '|') STALLSCOPE_EXPECT(escaped && i > 0 && row[i - 1] == '\\');
    escaped = row[i] == '\\' && !escaped;
  }
}

// What a Markdown reader makes of plain words.
std::string WordsOf(std::string_view markdown) {
  std::string words;
  for (size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    if (c == '\\') {
      words += markdown[++i];
      continue;
    }
    STALLSCOPE_EXPECT(!Has("`*[]<>|", std::string_view(&c, 1)));
    words += c;
  }
  ReplaceAll(words, "\u200b", "");
  ReplaceAll(words, "&lt;", "<");
  ReplaceAll(words, "&gt;", ">");
  ReplaceAll(words, "&#36;", "$");
  ReplaceAll(words, "&#32;", " ");
  ReplaceAll(words, "&#124;", "|");
  ReplaceAll(words, "&amp;", "&");
  return words;
}

void TryMarkdown(std::string_view text) {
  const std::string clean = Printable(text);
  std::string words = EscapeMarkdown(text);
  ExpectNoBar(words);
  STALLSCOPE_EXPECT(WordsOf(words) == clean);
  ReplaceAll(words, "\u200b", "");
  ExpectSound(words);

  std::string code = MarkdownCode(text);
  ExpectNoBar(code);
  if (code.starts_with("<code>")) {
    STALLSCOPE_EXPECT(WordsOf(code.substr(6, code.size() - 13)) == clean);
  } else if (code == "-") {
    STALLSCOPE_EXPECT(clean.find_first_not_of(' ') == std::string::npos);
  } else {
    ExpectSound(code);
    const size_t fence = code.find_first_not_of('`');
    const std::string inside = code.substr(fence, code.size() - 2 * fence);
    STALLSCOPE_EXPECT(!Has(inside, std::string(fence, '`')));
    std::string back = fence > 1 ? inside.substr(1, inside.size() - 2) : inside;
    ReplaceAll(back, "\\|", "|");
    STALLSCOPE_EXPECT(back == clean);
  }

  const std::string block = MarkdownBlock("py", text);
  ExpectSound(block, "\n\t");
  const std::string fence = block.substr(0, block.find_first_not_of('`'));
  STALLSCOPE_EXPECT(block == fence + "py\n" + PrintableLines(text) + "\n" + fence + "\n");
  STALLSCOPE_EXPECT(!Has(PrintableLines(text), fence));
}

void TryJson(std::string_view text) {
  const std::string wanted = Cleaned(text, "", "");
  std::string string = "\"";
  AppendJsonEscaped(text, string);
  string += '"';
  ExpectSound(string);
  STALLSCOPE_EXPECT(nlohmann::json::parse(string).get_ref<const std::string&>() == wanted);

  const nlohmann::json tree = text;
  const std::string plain = JsonText(tree);
  ExpectSound(plain);
  // The library decides how many U+FFFD a broken character becomes.
  const nlohmann::json back = nlohmann::json::parse(plain);
  STALLSCOPE_EXPECT(back.is_string() && (wanted != text || back == tree));
}

void TrySarif(std::string_view text) {
  const std::string message = SarifText(text);
  bool escaped = false;
  for (size_t i = 0; i < message.size(); ++i) {
    STALLSCOPE_EXPECT(escaped || !std::string_view(message).substr(i).starts_with("]("));
    escaped = message[i] == '\\' && !escaped;
  }
  if (!Has(text, "](")) STALLSCOPE_EXPECT(message == text);

  std::string uri = SarifUri(text);
  ExpectSound(uri);
  if (text.starts_with('/')) uri.erase(0, 7);
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    STALLSCOPE_EXPECT(static_cast<unsigned char>(uri[i]) < 0x7f && uri[i] != ':');
    path +=
        uri[i] == '%' ? static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
    if (uri[i] == '%') i += 2;
  }
  STALLSCOPE_EXPECT(text.empty() ? path == "." : path == text);
}

// The first field of a CSV row, by RFC 4180; `end` is where it ends.
std::string FirstField(std::string_view row, size_t& end) {
  std::string field;
  if (!row.starts_with('"')) {
    end = std::min(row.find_first_of(",\r\n"), row.size());
    return std::string(row.substr(0, end));
  }
  for (end = 1; end < row.size(); ++end) {
    if (row[end] == '"' && row.substr(end + 1, 1) != "\"") {
      ++end;
      break;
    }
    if (row[end] == '"') ++end;
    field += row[end];
  }
  return field;
}

bool IsRisky(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  return text.find_first_of("=+-@\t\r\n") == 0 || text.starts_with("\uff1d") ||
         text.starts_with("\uff0b") || text.starts_with("\uff0d") || text.starts_with("\uff20");
}

// Writes a row whose first field is `text`, and reads that field.
std::string Carried(std::string_view text) {
  std::string row;
  AppendCsvField(text, row);
  ExpectSound(row, "\t\r\n");
  const size_t length = row.size();
  row += ",x\r\n";
  size_t end = 0;
  std::string field = FirstField(row, end);
  STALLSCOPE_EXPECT(end == length);
  return field;
}

void TryCsv(std::string_view text) {
  const std::string field = Carried(text);
  const std::string clean = Cleaned(text, "?", "\t\r\n");
  // Only a number may begin like a formula: nothing in it calls anything.
  if (IsRisky(field) && !field.starts_with('\'')) {
    STALLSCOPE_EXPECT(field[0] == '+' || field[0] == '-');
    STALLSCOPE_EXPECT(field.find_first_of("=()!|'\"@&<>:;*^\t\r\n") == std::string::npos);
  }
  const bool quoted = field != clean;
  STALLSCOPE_EXPECT(!quoted || (IsRisky(clean) && field == "'" + clean));
  // It is reversible: a text that got a quote would get another one.
  STALLSCOPE_EXPECT((Carried(field) != field) == quoted);
  const std::string cell = TsvField(text);
  ExpectSound(cell);
  STALLSCOPE_EXPECT(cell.starts_with('\'') == field.starts_with('\''));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryTerminal(text);
  TryMarkup(text);
  TryMarkdown(text);
  TryJson(text);
  TrySarif(text);
  TryCsv(text);
  return 0;
}
