// Escapes names, paths and messages from traces for the format they are written in. A trace is
// untrusted, so its contents are shown and never obeyed. Each format is escaped here and nowhere
// else. Any thread.
//
// Every result is valid UTF-8, whatever the bytes of the input (SarifText leaves that to the JSON
// around it, and a shell gets the bytes as they are). "Steering" characters are those
// that end a line, drive a terminal, turn the direction of writing, or show nothing at all: C0 and
// C1 controls (ESC and U+009B among them), bidirectional marks, overrides and isolates, line
// separators, zero-width and tag characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stallscope {

// --- Terminal text ---

bool IsSteering(char32_t code);

// One line: steering characters become '?', invalid UTF-8 becomes U+FFFD.
std::string Printable(std::string_view text);
// The same with its line feeds and tabs; the carriage return of a CRLF is dropped.
std::string PrintableLines(std::string_view text);

// --- Shell ---

// One word for a POSIX shell, zsh or fish: as it is if it is plain, else in single quotes.
std::string ShellWord(std::string_view word);
// A command line of such words.
std::string ShellCommand(const std::vector<std::string>& words);

// --- HTML and XML (JUnit, SVG) ---

// For text and quoted attributes, on one line. No "<", ">" or quote is left, so neither "]]>" nor
// a tag nor a comment can arise; what XML 1.0 forbids becomes '?'.
std::string EscapeMarkup(std::string_view text);
// The same with its line feeds and tabs: for <pre> and <system-out>.
std::string EscapeMarkupLines(std::string_view text);

// --- Markdown (GitHub's) ---

// Plain words within a line, even in a table or at its beginning: nothing becomes emphasis, a link,
// a formula, a list, a heading, or a mention by @name or #number.
std::string EscapeMarkdown(std::string_view text);
// A code span, for names. "-" if there is no text.
std::string MarkdownCode(std::string_view text);
// A block of code between fences that it does not contain.
std::string MarkdownBlock(std::string_view language, std::string_view code);

// --- JSON ---

// Appends `text` as the inside of a JSON string. Steering characters are written as \uXXXX, which
// reads back as the same character; invalid UTF-8 reads back as U+FFFD.
void AppendJsonEscaped(std::string_view text, std::string& to);

// JSON serialized by a library, with its strings as above: JSON on a terminal must not drive it
// either.
std::string PlainJson(std::string json);

// A tree of nlohmann's as text; an indent of -1 is one line. A template, because this room links
// the standard library alone.
template <class Tree>
std::string JsonText(const Tree& tree, int indent = 2) {
  return PlainJson(tree.dump(indent, ' ', false, Tree::error_handler_t::replace));
}

// --- SARIF ---
// A SARIF log is JSON; these are for values that its readers interpret.

// For a message's text, where "[text](target)" would be a link.
std::string SarifText(std::string_view text);
// A URI reference of a path: every byte but plain characters as %XX.
std::string SarifUri(std::string_view path);

// --- CSV and TSV ---

// Appends `text` as a field of RFC 4180: quoted if it contains a comma, a quote or a line break.
// Steering characters other than tabs and line breaks become '?'.
//
// A spreadsheet runs a cell that begins with '=', '+', '-', '@', a tab or a line break, or the
// fullwidth forms of these signs, so such a text gets a "'" in front, which spreadsheets read as
// "this is text". A number with its unit ("-1.5", "+12.3%", "-1,234 ms") stays as it is. A text
// that already has such quotes gets one more: dropping the first of "'=", "''=", ... restores it.
void AppendCsvField(std::string_view text, std::string& to);

// The same without quotes, for tables on a clipboard: tabs and line breaks become spaces.
std::string TsvField(std::string_view text);

}  // namespace stallscope
