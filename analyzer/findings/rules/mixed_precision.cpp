// Row 19: a compute-bound run in float32 on a device that is several times as fast in less.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void MixedPrecision(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kCompute || !c.spec.has_value()) return;
  const Precision now = c.spec->trainer.precision;
  // An emulated device takes its time whatever it computes, and a host's cores have no half floats.
  if (!ComputesReally(c) || (now != Precision::kFp32 && now != Precision::kTf32)) return;
  const double share = Share(c, Category::kCompute);
  Draft draft =
      About("mixed-precision", c, StageId::None(), share,
            fmt::format("the device computes {} of the time, in {}", Percent(share), ToWord(now)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel, fmt::format("trainer.precision: {}", ToWord(now)));
  RecommendUnpriced(draft, "compute in bfloat16, and keep the weights in float32",
                    Setting("trainer.precision", "bf16"),
                    "a run does not tell how fast its kernels are in another precision: replay it "
                    "with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
