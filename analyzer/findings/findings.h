// What bounds a run, and what to change. Any thread.
#pragma once

#include <functional>
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
  // For a run that was made from none: an imported run's stages as a replay takes them, a job's
  // loaders. Rules' patches apply to it; nothing else is read from it.
  std::optional<Spec> stages = std::nullopt;
  // The throughput that a simulation predicts of a patch, for a rule to choose a number by; nothing
  // where it cannot predict it. May be empty.
  std::function<std::optional<double>(const Patch&)> simulated = {};
};

// A better price than the capacity law's: sets the gain of a recommendation that has a patch, or
// why it has none.
using Pricer = std::function<void(Recommendation&)>;

// All rules' findings, settled. With `price` false no gain is computed.
std::vector<Finding> Find(const Case& c, bool price = true, const Pricer& pricer = {});

// Prices each recommendation that has a patch, drops those that are not worth showing, and findings
// that then say nothing. First come the findings about what the verdict names, then those with the
// largest gain, then those about the stage that it names, then those with the largest share. So one
// without a price that is about the bound comes before all priced ones that are not.
std::vector<Finding> Settled(std::vector<Finding> findings, uint64_t steps, const Pricer& pricer);

// False: drop it, because a change for speed must be certain to bring some. But if much is at
// stake, and too few steps were recorded to confirm a large gain, it stays without the gain and
// asks for more steps: a run that is bound by its input must not look as if nothing could be done.
bool WorthShowing(Recommendation& recommendation, bool much_at_stake, uint64_t steps);

// Reported only because its change costs nothing: after all others.
bool IsMarginal(const Finding& finding);

}  // namespace stallscope::findings
