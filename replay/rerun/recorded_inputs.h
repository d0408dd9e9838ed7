// What a re-run of a recorded run would read, run and write: is the data still there and unchanged,
// and is the user's consent needed?
//
// Anyone may have sent a trace, and a re-run does what its spec says. So it reads only below the
// folder where the run was recorded, or one that the user names; a run that was not recorded by
// this user on this machine, or that reads elsewhere, needs consent. A re-run writes to its scratch
// folder only, whatever the spec says. A user's own job reads and writes what it likes, so running
// it again always needs consent. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/recorded_job.h"

namespace stallscope::replay {

struct RerunPlan {
  std::optional<JobPlan> job;        // of a user's job: what is started; it always needs consent
  Spec spec;                         // the given one, with absolute paths
  std::string folder;                // where relative paths start
  bool recorded_here = false;        // by this user, on this machine
  std::vector<std::string> reads;    // files and patterns
  std::vector<std::string> outside;  // those not below the folder

  bool NeedsYes() const { return job.has_value() || !recorded_here || !outside.empty(); }
  // Why consent is needed: "it was recorded on another machine or by another user".
  std::string Reason() const;
  // "reads ...", "runs ...", "writes ..."; `output` is the file that the command writes.
  std::vector<std::string> Lines(const std::string& output) const;
};

// `spec` is the run's own. `folder` is where the user says its data is now; empty: where it was
// recorded.
RerunPlan PlanRerun(const model::Run& run, const Spec& spec, const std::string& folder);

// Missing or changed data is ErrorKind::kInput, with a hint at --folder and --emulate. A run
// without files always passes. Of a job: its folder and program are there.
Status CheckData(const model::Run& run, const RerunPlan& plan);

}  // namespace stallscope::replay
