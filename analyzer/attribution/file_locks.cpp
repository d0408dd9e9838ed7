#include "analyzer/attribution/file_locks.h"

#include <algorithm>
#include <array>

namespace stallscope::attribution {

bool TakesFileLock(std::string_view op) {
  constexpr std::array kTakeOne = {"fcntl.flock", "fcntl.lockf", "FileLock.acquire"};
  return std::any_of(kTakeOne.begin(), kTakeOne.end(),
                     [&](const char* name) { return op.ends_with(name); });
}

double InFileLocks(const StageUse& use) {
  if (use.sampled_ns <= 0) return 0;
  double waits = 0;
  for (const OpUse& op : use.ops) {
    if (TakesFileLock(op.name)) waits += static_cast<double>(op.ns - op.cpu_ns);
  }
  return waits / static_cast<double>(use.sampled_ns);
}

}  // namespace stallscope::attribution
