// Row 17: neighbouring kernels that one could do, launched one by one.
#include <fmt/format.h>

#include "analyzer/findings/device_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void KernelFusion(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kLaunch)) return;
  if (c.spec.has_value() && c.spec->trainer.fuse) return;
  uint64_t count = 0;
  int64_t ns = 0;
  for (const auto& kernel : c.attribution.kernels) {
    count += kernel.count;
    ns += kernel.ns;
  }
  if (count == 0 || static_cast<double>(ns) / static_cast<double>(count) > kShortKernelNs) return;
  const double share = Share(c, Category::kLaunch);
  Draft draft = About(
      "kernel-fusion", c, StageId::None(), share,
      fmt::format("{} of step time is launching, and a kernel takes {} in the mean", Percent(share),
                  Duration(static_cast<double>(ns) / static_cast<double>(count))));
  Show(draft, Evidence::Kind::kKernel, fmt::format("{} kernels", count));
  Recommend(draft, "make one kernel of neighbouring ones",
            c.spec.has_value() ? Setting("trainer.fuse", true) : Patch(),
            WithExposedTimes(Category::kLaunch, {0.9, 0.75, 0.5}));
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
