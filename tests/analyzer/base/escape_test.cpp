#include "analyzer/base/escape.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace stallscope;
using namespace std::string_literals;

namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

template <class Escape>
void CheckTable(const Table& table, Escape&& escape) {
  for (const auto& [text, wanted] : table) CHECK(escape(text) == wanted);
}

// Texts as names have them, which look like what is escaped and are not.
const std::vector<std::string> kBenign = {
    "a=b",   "-1.5",         "decode (cpu)", "größe",   "数据",  "std::max", "10:30",
    "a_b_c", "images/1.sst", "50%",          "a+b=c",   "e. g.", "3.5 ms",   "-",
    "a - b", "1.5.2",        "v2) next",     "wwwidth", "at: x"};

template <class Escape>
void CheckUntouched(Escape&& escape) {
  for (const std::string& text : kBenign) CHECK(escape(text) == text);
}

std::string Csv(std::string_view text) {
  std::string field;
  AppendCsvField(text, field);
  return field;
}

std::string Json(std::string_view text) {
  std::string inside;
  AppendJsonEscaped(text, inside);
  return inside;
}

// As GitHub's parser takes a row apart: a bar ends a cell unless a backslash is in front. Readers
// disagree whether "\\|" has one, so both answers are counted.
std::pair<size_t, size_t> Bars(const std::string& row) {
  size_t by_byte = 0;
  size_t by_pair = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '|' && (i == 0 || row[i - 1] != '\\')) ++by_byte;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\') {
      ++i;
    } else if (row[i] == '|') {
      ++by_pair;
    }
  }
  return {by_byte, by_pair};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("terminal text: control characters and line breaks are replaced") {
    CheckTable({{"a\x1b[2J\nb\x7f", "a?[2J?b?"},
                {"\x1b]0;title\x07", "?]0;title?"},
                {"bell\a back\b tab\t cr\r", "bell? back? tab? cr?"},
                {"nul\0."s, "nul?."},
                {"\u202eevil \u0085 \u2028 \u200b \u009b2J", "?evil ? ? ? ?2J"},
                {"\u2066a\u2069 \ufeff \u061c \U000e0041", "?a? ? ? ?"},
                {"\xff caf\xc3\xa9 \xc3( \xed\xa0\x80 \xe6\x95",
                 "\ufffd caf\u00e9 \ufffd( \ufffd\ufffd\ufffd \ufffd\ufffd"}},
               &Printable);
    CHECK(PrintableLines("a\r\n\tb\x1b\n\rc") == "a\n\tb?\n?c");
    CheckUntouched(&Printable);
    CheckUntouched(&PrintableLines);
  }

  TEST_CASE("markup: no tag, entity or end of a section is left") {
    CheckTable({{"<a href=\"x\">'&\x01\n", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;??"},
                {"]]>", "]]&gt;"},
                {"<!-- -->", "&lt;!-- --&gt;"},
                {"</script>", "&lt;/script&gt;"},
                {"&#60;", "&amp;#60;"},
                {"\uffff\ufffe\x1b\xff", "???\ufffd"}},
               &EscapeMarkup);
    CHECK(EscapeMarkupLines("a\r\n\tb<\x1b") == "a\n\tb&lt;?");
    CheckUntouched(&EscapeMarkup);
  }

  TEST_CASE("markdown: words are never markup") {
    CheckTable({{"a|b*c_d _e_: 1.5", "a\\|b\\*c_d \\_e\\_: 1.5"},
                {"<b>&amp;", "&lt;b&gt;&amp;amp;"},
                {"https://x www.y @me", "https\\://x www\\.y @\u200bme"},
                {"![i](u) [l](u)", "!\\[i\\](u) \\[l\\](u)"},
                {"a\\|b", "a\\\\&#124;b"},
                {"`x`", "\\`x\\`"},
                {"$x$", "&#36;x&#36;"},
                {"fixes #12", "fixes \\#\u200b12"},
                {"# head", "\\# head"},
                {"- item", "\\- item"},
                {"---", "\\---"},
                {"===", "\\==="},
                {"1. item", "1\\. item"},
                {"12) item", "12\\) item"},
                {"    code", "&#32;   code"},
                {"a\n\nb\x1b", "a??b?"}},
               &EscapeMarkdown);
    CheckUntouched(&EscapeMarkdown);
  }

  TEST_CASE("markdown: code ends where it should, in a table too") {
    CheckTable({{"a|b", "`a\\|b`"},
                {"a``b", "``` a``b ```"},
                {"", "-"},
                {"  ", "-"},
                {"a\\|<b>|c", "<code>a\\\\&#124;&lt;b&gt;\\|c</code>"},
                {"a\nb", "`a?b`"}},
               &MarkdownCode);
    CHECK(MarkdownBlock("py", "x\n```\ny") == "````py\nx\n```\ny\n````\n");
    for (const std::string& text : kBenign) CHECK(MarkdownCode(text) == "`" + text + "`");
    for (const char* text : {"|", "\\|", "\\\\|", "a\\|b|`|\\`|", "\\|[x](y)|"}) {
      CHECK(Bars(MarkdownCode(text)) == std::pair<size_t, size_t>{0, 0});
      CHECK(Bars(EscapeMarkdown(text)) == std::pair<size_t, size_t>{0, 0});
    }
  }

  TEST_CASE("json: strings read back, and invalid UTF-8 is replaced") {
    CheckTable(
        {
            {"a\"b\\c", "a\\\"b\\\\c"},
            {"\0\n\x1f\x7f"s, "\\u0000\\u000a\\u001f\\u007f"},
            {"décode → 🚂", "décode → 🚂"},
            {"\u009b \u202e \u2028 \U000e0041", "\\u009b \\u202e \\u2028 \\udb40\\udc41"},
            {"\xff", "\\ufffd"},
            {"a\xc3", "a\\ufffd"},                     // cut off
            {"\xc0\xaf", "\\ufffd\\ufffd"},            // overlong
            {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"}  // a surrogate
        },
        &Json);
    CheckUntouched(&Json);
    int wrong = 0;
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < 256; ++b) {
        const char text[2] = {static_cast<char>(a), static_cast<char>(b)};
        if (!nlohmann::json::accept("\"" + Json(std::string_view(text, 2)) + "\"")) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("json: a library's text does not drive a terminal, and reads back unchanged") {
    const nlohmann::json tree = {{"a\u009b", "\x7f \u202e \u2028 \U000e0041 größe <b>"},
                                 {"n", -1.5}};
    for (const int indent : {-1, 2}) {
      const std::string text = JsonText(tree, indent);
      CHECK(PrintableLines(text) == text);
      CHECK(nlohmann::json::parse(text) == tree);
      CHECK(text.find("größe <b>") != std::string::npos);
    }
    CHECK(JsonText(nlohmann::json("\xff")) == "\"\ufffd\"");
    CHECK(JsonText(nlohmann::json("a=b")) == "\"a=b\"");
  }

  TEST_CASE("shell: a word stays one word, plain ones without quotes") {
    CHECK(ShellCommand({"sh", "-c", "it's $x"}) == R"(sh -c 'it'\''s $x')");
    CHECK(ShellCommand({"--at=loader=/u/train.py:12", "a%b@c+d,e", ""}) ==
          "--at=loader=/u/train.py:12 a%b@c+d,e ''");
    for (const char* const word :
         {"a b", "a\tb", "a\nb", "\"", "\\", "$(x)", "`x`", "*", "?", "[a]", "{a}",
          "<",   ">",    "|",    "&",  ";",  "#",    "~",   "!", "^", "=x",  "\xc3\xa9"}) {
      CHECK(ShellWord(word) == "'" + std::string(word) + "'");
    }
    CHECK(ShellWord("-x=1") == "-x=1");
  }

  TEST_CASE("sarif: a message has no link, a path is a file reference") {
    CheckTable({{"[a](http://evil)", "[a\\](http://evil)"},
                {"[a\\](u)", "[a\\\\\\](u)"},
                {"stages[decode].x (ms)", "stages[decode].x (ms)"},
                {"a] (b)", "a] (b)"}},
               &SarifText);
    CheckUntouched(&SarifText);
    CheckTable({{"runs/a b.sst", "runs/a%20b.sst"},
                {"/x/größe", "file:///x/gr%C3%B6%C3%9Fe"},
                {"javascript:alert(1)", "javascript%3Aalert%281%29"},
                {"\x1b\xff", "%1B%FF"},
                {"", "."}},
               &SarifUri);
  }

  TEST_CASE("csv: fields stay separate, and no spreadsheet runs them") {
    CheckTable({{"=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""},
                {"=1+1", "'=1+1"},
                {"+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"},
                {"-2+3", "'-2+3"},
                {"-A1", "'-A1"},
                {"@SUM(A1)", "'@SUM(A1)"},
                {"\t=1", "'\t=1"},
                {"\r=1", "\"'\r=1\""},
                {"\n=1", "\"'\n=1\""},
                {"\uff1d1", "'\uff1d1"},
                {"'=1", "''=1"},  // or it would read back as "=1"
                {"a\"b", "\"a\"\"b\""},
                {"a,b", "\"a,b\""},
                {"two\r\nlines", "\"two\r\nlines\""},
                {"\x1b[2J\0\u202e\xff"s, "?[2J??\ufffd"}},
               &Csv);
    for (const char* text : {"a=b", "-1.5", "+3", "-1,234", "-1e-9", "+12.3%", "-4 ms", "-.5",
                             "-3 GB/s", "'quoted'", "decode (cpu)", "größe", "a@b", "x-1"}) {
      const std::string plain = text;
      const bool comma = plain.find(',') != std::string::npos;
      CHECK(Csv(plain) == (comma ? "\"" + plain + "\"" : plain));
    }
    CHECK(TsvField("=1\t2\r\n3\x1b") == "'=1 2  3?");
    CHECK(TsvField("a, \"b\"") == "a, \"b\"");
    CHECK(TsvField("-1.5") == "-1.5");
  }
}
