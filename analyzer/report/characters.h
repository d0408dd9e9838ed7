// Characters of UTF-8 text, one by one. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_CHARACTERS_H_
#define STALLSCOPE_ANALYZER_REPORT_CHARACTERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stallscope::report {

struct Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character that begins at `text[at]`. A byte that begins none, overlong forms, surrogates and
// what is cut off are one invalid character of one byte.
Character CharacterAt(std::string_view text, size_t at);

// 0, 1 or 2 columns on a terminal.
size_t ColumnsOf(char32_t code);

// Ends lines, steers a terminal, turns the direction of writing or shows nothing at all.
bool IsControl(char32_t code);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_CHARACTERS_H_
