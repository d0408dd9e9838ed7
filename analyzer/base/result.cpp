#include "analyzer/base/result.h"

namespace stallscope {

std::string Error::Line() const {
  std::string line;
  if (!where.empty()) line = where + ": ";
  line += what;
  if (!hint.empty()) line += "; " + hint;
  // Names of files and keys come from outside: a line break in one must not make two lines.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace stallscope
