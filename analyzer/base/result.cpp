#include "analyzer/base/result.h"

#include "analyzer/base/escape.h"

namespace stallscope {

std::string Error::Line() const {
  std::string line;
  if (!where.empty()) line = where + ": ";
  line += what;
  if (!hint.empty()) line += "; " + hint;
  // A library's reason may have several lines.
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  // File names and keys are untrusted.
  return Printable(line);
}

}  // namespace stallscope
