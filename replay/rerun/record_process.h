// `stallscope record` as a child process. Any thread; the calling thread must outlive the call,
// because the child dies with that thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "analyzer/base/units.h"

namespace stallscope::replay {

struct RecordProcess {
  std::string program;
  std::string spec;    // the file
  std::string trace;   // the file
  std::string errors;  // the file for the child's stderr
  bool digest = false;
  std::string stores;  // a folder for what caches and snapshots write; empty: where the spec says
};

// How long a child may take to seal its trace once it was asked to stop.
inline constexpr int64_t kPatienceNs = 10 * kNsPerSecond;

// Runs it to its end. Returns true if `stop_requested` (asked 20 times a second; may be empty)
// stopped it: by SIGTERM, then by SIGKILL if it still runs kPatienceNs later by `now`, the test
// seam. An error is the child's own and keeps its kind.
Result<bool> Run(const RecordProcess& process, const std::function<bool()>& stop_requested,
                 const std::function<int64_t()>& now = &MonotonicNs);

}  // namespace stallscope::replay
