// Row 18: Python runs the step's operations one by one.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/findings/counted_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

// Fewer are what every loop has: fetching a batch, reading the loss.
constexpr double kManyOpsAStep = 10;

}  // namespace

void EagerOps(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const CountedTime eager = CountedIn(c, "eager ops");
  const auto steps = static_cast<double>(std::max<size_t>(1, c.attribution.window.steps));
  const double each = static_cast<double>(eager.count) / steps;
  if (each < kManyOpsAStep || eager.share < kModerateShare) return;
  const double share = std::min(1.0, eager.share);
  Draft draft = About("eager-ops", c, StageId::None(), share,
                      fmt::format("{:.0f} operations a step are run by Python one by one, {} of "
                                  "step time",
                                  each, Percent(share)));
  ShowCounter(draft, c, "eager ops", fmt::format("{} operations", eager.count));
  RecommendUnpriced(draft, "compile the step into one function", Patch(),
                    "how long the compiled step takes cannot be told from this run; record it");
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
