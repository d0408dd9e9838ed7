// `stallscope record` as a child. Any thread; the thread that calls must live until it is done,
// because the child ends when that thread does.
#ifndef STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_
#define STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_

#include <functional>
#include <string>

#include "analyzer/base/result.h"

namespace stallscope::replay {

struct RecordProcess {
  std::string program;
  std::string spec;    // the file
  std::string trace;   // the file
  std::string errors;  // the file for what the child says on stderr
  bool digest = false;
  std::string stores;  // a folder for what caches and snapshots write; empty: where the spec says
};

// Runs it to its end. True: it was stopped, asked politely, because `stop_requested` (20 times a
// second; may be empty) said so. An error is the child's own, of its kind.
Result<bool> Run(const RecordProcess& process, const std::function<bool()>& stop_requested);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_RERUN_RECORD_PROCESS_H_
