// Texts from traces, made safe for where they go. Whatever is in them they are shown, never obeyed.
// Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_ESCAPE_H_
#define STALLSCOPE_ANALYZER_REPORT_ESCAPE_H_

#include <string>
#include <string_view>

namespace stallscope::report {

// For text and quoted attributes of HTML and XML. One line.
std::string EscapeMarkup(std::string_view text);
// The same with its line feeds and tabs: for <pre>.
std::string EscapeMarkupLines(std::string_view text);

// Plain words of a line of GitHub's Markdown, also in a table: nothing is emphasised, linked or
// called by its @name.
std::string EscapeMarkdown(std::string_view text);
// A code span, for names. "-" where there is no text.
std::string MarkdownCode(std::string_view text);
// A block of code between fences that it does not hold.
std::string MarkdownBlock(std::string_view language, std::string_view code);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_ESCAPE_H_
