// What bounds a run, and what to change. Any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_

#include <optional>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/spec/spec.h"

namespace stallscope::findings {

// The verdict as METHOD.md has it.
Verdict Judge(const model::Run& run, const attribution::Attribution& attribution);

// What every rule is given.
struct Case {
  const model::Run& run;
  const attribution::Attribution& attribution;
  const Verdict& verdict;
  std::optional<Spec> spec;  // that the run was made from
  // Of a run of another profiler's, which was made from none: its stages as a replay takes them.
  // Rules' patches are made to it; it says nothing else of the run.
  std::optional<Spec> stages = std::nullopt;
};

// All rules' findings, by gain where they are priced, then by share. With `price` false no gain is
// computed.
std::vector<Finding> Find(const Case& c, bool price = true);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_
