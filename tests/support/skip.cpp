#include "tests/support/skip.h"

#include <cstdio>

namespace stallscope::test {
namespace {
bool skipped = false;
}

void Skip(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  skipped = true;
}
bool Skipped() { return skipped; }

}  // namespace stallscope::test
