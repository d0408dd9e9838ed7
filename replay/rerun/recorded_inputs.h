// What a re-run of a recorded run would read, run and write, before it does: is the data still
// there and the same, and has the user agreed?
//
// A trace is data that anybody may have sent, and a re-run does what its spec says. So it reads
// only below the folder in which the run was recorded, or one that the command line names; a run
// that was not recorded by this user on this machine, or that reads elsewhere, needs a yes. What a
// re-run stores is in its scratch folder whatever the spec says. Any thread.
#ifndef STALLSCOPE_REPLAY_RERUN_RECORDED_INPUTS_H_
#define STALLSCOPE_REPLAY_RERUN_RECORDED_INPUTS_H_

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

struct RerunPlan {
  Spec spec;                         // the given one, its relative paths made absolute
  std::string folder;                // where they begin
  bool recorded_here = false;        // by this user, on this machine
  std::vector<std::string> reads;    // files and patterns
  std::vector<std::string> outside;  // those of them that are not below the folder

  bool NeedsYes() const { return !recorded_here || !outside.empty(); }
  // Why a yes is needed: "it was recorded on another machine or by another user".
  std::string Reason() const;
  // "reads ...", "runs ...", "writes ..."; `output` is the file that the command writes.
  std::vector<std::string> Lines(const std::string& output) const;
};

// `spec` is the one that the run was made from. `folder` is where the user says that its data is
// now; empty: where it was recorded.
RerunPlan PlanRerun(const model::Run& run, const Spec& spec, const std::string& folder);

// Data that is missing or not the recorded one is ErrorKind::kInput, and offers another folder and
// the emulation. A run that was made without files always passes.
Status CheckData(const model::Run& run, const RerunPlan& plan);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_RERUN_RECORDED_INPUTS_H_
