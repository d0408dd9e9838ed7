// One real run of a spec, and what its trace shows.
//
// A spec is of our own pipeline, which `record` runs, or of a user's job, which `run` starts.
// A run is a recording like any other: its figures come from its trace, without the warm-up, as in
// `analyze`. If `program` is given, it has its own process: its memory is its own, and a crash
// takes nothing else down. Runs disturb each other, so one at a time per machine; several threads
// may, but should not, call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/page_cache.h"
#include "replay/rerun/recorded_job.h"

namespace stallscope::replay {

struct RerunOptions {
  std::string program;  // the program `stallscope`; empty: runs in this process
  // An existing folder for the spec and the trace, which are removed afterward, and for all that
  // caches and snapshots write, which the next run reads. What the spec names is only read.
  std::string scratch;
  bool digest = false;
  bool probe = false;  // check what bounds it by slowing stages
  int cores = 0;       // how many of this process's cores the run may use; 0: all
  PageCache page_cache = PageCache::kAsItIs;
  bool first_epoch = false;  // take its figures from the first epoch, not from the steady part
  // Of a spec that is a job's: what is started. It needs `program`.
  std::optional<JobPlan> job;
  std::string keep;  // a file for the trace of a run that succeeds; empty: it is removed
  // Asked 20 times a second; true ends the run. May be empty.
  std::function<bool()> stop_requested;
};

struct Rerun {
  model::Run run;
  attribution::Attribution attribution;
  bool stopped = false;  // by stop_requested: the run is incomplete
};

// The error is the run's own, as `record` would print it.
Result<Rerun> RunSpec(const Spec& spec, const RerunOptions& options);

}  // namespace stallscope::replay
