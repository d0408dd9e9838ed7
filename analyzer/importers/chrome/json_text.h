// JSON strings as what they mean. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_TEXT_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace stallscope::importers::chrome {

// What stands between a string's quotes, without its escapes. An escape that is none stays as it
// is; half of a surrogate pair becomes U+FFFD.
std::string Unescaped(std::string_view raw);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_JSON_TEXT_H_
