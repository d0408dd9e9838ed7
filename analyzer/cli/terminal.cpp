#include "analyzer/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace stallscope::cli {

bool UseColors() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace stallscope::cli
