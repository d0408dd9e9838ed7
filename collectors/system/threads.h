// The threads of this process: how long each ran, and how long it was runnable without a core.
//
// Read from /proc/self/task/*/schedstat. A bounded reading continues where the last one stopped, so
// that thousands of threads cost no more than a few.
#pragma once

#include <memory>
#include <string>

#include "collectors/system/source.h"

namespace stallscope::system {

std::unique_ptr<Source> MakeThreads(const std::string& root);

}  // namespace stallscope::system
