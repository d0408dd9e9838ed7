// `stallscope record` as a child. Any thread; the thread that calls must live until it is done,
// because the child ends when that thread does.
#ifndef STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_
#define STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_

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
  std::string errors;  // the file for what the child says on stderr
  bool digest = false;
  std::string stores;  // a folder for what caches and snapshots write; empty: where the spec says
};

// How long a child that was asked to stop may take to seal its trace.
inline constexpr int64_t kPatienceNs = 10 * kNsPerSecond;

// Runs it to its end. True: it was stopped, because `stop_requested` (20 times a second; may be
// empty) said so: asked politely, and killed where it is still there after kPatienceNs of `now`,
// the seam for tests. An error is the child's own, of its kind.
Result<bool> Run(const RecordProcess& process, const std::function<bool()>& stop_requested,
                 const std::function<int64_t()>& now = &MonotonicNs);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_
