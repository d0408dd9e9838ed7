// Row 20: the replicas' gradients take a share of the step that is not hidden behind computing.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void Strategy(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kCommunication)) return;
  const double share = Share(c, Category::kCommunication);
  Draft draft = About(
      "strategy", c, StageId::None(), share,
      fmt::format("{} of step time is communication that no computing hides", Percent(share)));
  for (const auto& kernel : c.attribution.kernels) {
    if (!kernel.communication) continue;
    Show(draft, Evidence::Kind::kKernel,
         fmt::format("{}: {} in {} calls", c.run.Text(kernel.name),
                     Duration(static_cast<double>(kernel.ns)), kernel.count));
    break;
  }
  const bool server =
      c.spec.has_value() && c.spec->trainer.strategy.kind == StrategyKind::kParameterServer;
  RecommendUnpriced(
      draft,
      server ? "reduce among the replicas instead of through a parameter server"
             : "begin to reduce a layer's gradients while the next one's are computed, in larger "
               "buckets, or reduce only every few steps",
      server ? Setting("trainer.strategy.kind", "mirrored") : Patch(),
      "a run does not tell how much of it computing would hide: record one with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
