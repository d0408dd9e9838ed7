// No row of its own: host and device wait for each other, step by step.
#include <fmt/format.h>

#include "analyzer/findings/device_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void SyncPoints(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound == Bound::kInconclusive || c.verdict.bound == Bound::kCompute) return;
  const double share = Share(c, Category::kSync);
  if (share < kSyncShare) return;
  Draft draft = About("sync-points", c, StageId::None(), share,
                      fmt::format("{} of step time the device has nothing to do while the host "
                                  "waits for it or reads from it",
                                  Percent(share)));
  Show(draft, Evidence::Kind::kKernel,
       fmt::format("{} of idle device time behind a synchronisation",
                   Duration(static_cast<double>(c.attribution.idle.sync_ns))));
  const bool knob = c.spec.has_value() && !c.spec->transfer.overlap;
  Recommend(draft,
            "read the loss every many steps, and issue the next step before this one is done",
            knob ? Setting("transfer.overlap", true) : Patch(),
            WithExposedTimes(Category::kSync, {0.7, 0.4, 0.1}));
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
