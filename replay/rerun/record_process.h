// A recording as a child process: `stallscope record`, or `stallscope run` with the job that it
// starts. Any thread; the calling thread must outlive the call, because the child dies with that
// thread. What the child starts is in its process group, and goes with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "analyzer/base/units.h"

namespace stallscope::replay {

struct RecordProcess {
  std::vector<std::string> command;  // the program stallscope, and its arguments
  std::string errors;                // the file for the child's stderr
  std::string folder;                // that it starts in; empty: this process's own
  std::string temporary;             // its TMPDIR; empty: this process's own
  bool job = false;                  // the exit code is that of a user's program
};

// How long a child may take to seal its trace once it was asked to stop.
inline constexpr int64_t kPatienceNs = 10 * kNsPerSecond;

// Runs it to its end. Returns true if `stop_requested` (asked 20 times a second; may be empty)
// stopped it: by SIGTERM, then by SIGKILL if it still runs kPatienceNs later by `now`, the test
// seam. An error is the child's own and keeps its kind; of a job it is what it printed last.
Result<bool> Run(const RecordProcess& process, const std::function<bool()>& stop_requested,
                 const std::function<int64_t()>& now = &MonotonicNs);

}  // namespace stallscope::replay
