// A finding's change in the words of the user's own framework. Private to the room; any thread.
//
// One file a framework, each a table from the finding's id to a few lines of Python. A framework
// that has not got the technique has no line: code that only looks right would be worse.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_ADVICE_ADVICE_H_
#define STALLSCOPE_ANALYZER_FINDINGS_ADVICE_ADVICE_H_

#include <span>
#include <string>
#include <string_view>

#include "analyzer/findings/finding.h"

namespace stallscope::findings::advice {

// What a table's texts have in place of "{stage}" and "{value}".
struct Words {
  std::string stage;
  std::string value;
};

struct Line {
  std::string_view id;
  std::string_view code;
};

std::span<const Line> TfData();
std::span<const Line> Pytorch();
std::span<const Line> Dali();
std::span<const Line> Grain();

Code CodeFor(std::string_view id, const Words& words);

}  // namespace stallscope::findings::advice

#endif  // STALLSCOPE_ANALYZER_FINDINGS_ADVICE_ADVICE_H_
