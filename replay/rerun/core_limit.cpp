#include "replay/rerun/core_limit.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace stallscope::replay {
namespace {

Error CannotLimit(const char* doing) {
  return {ErrorKind::kRun,
          std::string("the cores cannot be ") + doing + ": " + std::strerror(errno), "",
          "run without a core limit"};
}

}  // namespace

Result<CoreLimit> CoreLimit::Set(int cores) {
  CoreLimit limit;
  if (cores <= 0) return limit;
  if (sched_getaffinity(0, sizeof(limit.before_), &limit.before_) != 0) return CannotLimit("read");
  if (cores >= CPU_COUNT(&limit.before_)) return limit;
  cpu_set_t fewer;
  CPU_ZERO(&fewer);
  int taken = 0;
  for (size_t core = 0; core < CPU_SETSIZE && taken < cores; ++core) {
    if (!CPU_ISSET(core, &limit.before_)) continue;
    CPU_SET(core, &fewer);
    ++taken;
  }
  if (sched_setaffinity(0, sizeof(fewer), &fewer) != 0) return CannotLimit("limited");
  limit.limited_ = true;
  return limit;
}

CoreLimit::CoreLimit(CoreLimit&& other) noexcept
    : before_(other.before_), limited_(std::exchange(other.limited_, false)) {}

CoreLimit::~CoreLimit() {
  if (limited_) sched_setaffinity(0, sizeof(before_), &before_);
}

int AllowedCores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace stallscope::replay
