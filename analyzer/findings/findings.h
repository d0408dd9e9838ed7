// What bounds a run, and what to change. Any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_

#include <optional>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/findings/verdict.h"
#include "analyzer/spec/spec.h"

namespace stallscope::findings {

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

// False: it goes, for a change for speed must surely bring some. But where much of step time is at
// stake and so few steps were recorded that no more than a guess is left of a large gain, it stays
// without the gain, and says that more steps would tell: a run that is bound by its input must not
// look as if nothing could be done.
bool WorthShowing(Recommendation& recommendation, double share, uint64_t steps);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_
