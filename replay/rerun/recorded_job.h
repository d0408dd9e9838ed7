// A user's own job as something that can be run again: its command, in its folder, for a number of
// steps, with other settings.
//
// The command comes from the trace, so a re-run always needs consent. Only settings that differ
// from the recorded ones are set, each at the line that constructed the loader: nothing of the
// user's is changed. What a run with changed settings delivers is checked: a setting that did not
// arrive is an error, never a figure. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// Its recorded settings. `job.steps` is the number of steps of a re-run: as recorded, but no more
// than it takes for an interval; where epochs are short, whole ones. Empty: no job, or none whose
// loaders were seen.
std::optional<Spec> RecordedJob(const model::Run& run);

// A call of the job's own that takes a setting of a loader, where the trace has its line.
struct RecordedCall {
  std::string knob;  // num_parallel_calls
  std::string file;
  uint32_t line = 0;
  bool operator==(const RecordedCall&) const = default;
};

struct RecordedLoader {
  std::string name;  // loader, loader2, ...
  std::string file;  // where it is constructed; empty: unknown
  uint32_t line = 0;
  std::vector<RecordedCall> calls;
};

struct JobPlan {
  std::vector<std::string> command;
  std::string folder;  // where it is started
  Spec recorded;       // its settings then
  std::vector<RecordedLoader> loaders;
  int64_t longest_ns = 0;  // a run that takes longer is ended: its settings do not work
};

// `folder`: where the job is now. Loaders below the recorded folder are below that one then.
JobPlan PlanJob(const model::Run& run, const Spec& recorded, const std::string& folder);

// The command line holds secrets, or the program came from standard input, which no trace has:
// kInput.
Status CheckCommand(const JobPlan& job);
// The folder and the program are there: else kInput.
Status CheckJobIsThere(const JobPlan& job);

// The arguments of `stallscope run` for these settings: --set, --at, --steps. kUsage: a setting
// that cannot be made, because it is unknown where the loader is constructed, or how.
Result<std::vector<std::string>> RunArguments(const JobPlan& job, const Spec& spec);

// Whether the run had the settings of `spec` that differ from the recorded ones: else kRun.
Status CheckSettings(const JobPlan& job, const Spec& spec, const model::Run& run);

}  // namespace stallscope::replay
