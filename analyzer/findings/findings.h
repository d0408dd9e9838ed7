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
  // For an imported run, which was made from none: its stages as a replay takes them. Rules'
  // patches apply to it; nothing else is read from it.
  std::optional<Spec> stages = std::nullopt;
};

// All rules' findings, by gain if they are priced, then by share. With `price` false no gain is
// computed.
std::vector<Finding> Find(const Case& c, bool price = true);

// False: drop it, because a change for speed must be certain to bring some. But if much of step
// time is at stake, and too few steps were recorded to confirm a large gain, it stays without the
// gain and asks for more steps: a run that is bound by its input must not look as if nothing could
// be done.
bool WorthShowing(Recommendation& recommendation, double share, uint64_t steps);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_FINDINGS_H_
