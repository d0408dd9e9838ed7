// Fewer cores for what a thread starts next. Belongs to the thread that created it.
#pragma once

#include <sched.h>

#include "analyzer/base/result.h"

namespace stallscope::replay {

// While it lives, the calling thread, and every thread and process that it starts, may use the
// first `cores` of the cores that it could use before. 0: all of them.
class CoreLimit {
 public:
  static Result<CoreLimit> Set(int cores);
  CoreLimit(CoreLimit&& other) noexcept;
  CoreLimit& operator=(CoreLimit&&) = delete;
  ~CoreLimit();

 private:
  CoreLimit() = default;
  cpu_set_t before_{};
  bool limited_ = false;
};

// The cores that the calling thread may use.
int AllowedCores();

}  // namespace stallscope::replay
