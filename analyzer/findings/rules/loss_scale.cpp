// Row 19: steps whose update is thrown away because the loss scale was too large.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

void LossScale(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const auto& steps = c.run.rows.steps;
  const auto skipped = std::count_if(steps.begin(), steps.end(),
                                     [](const auto& s) { return s.loss_scale_skipped > 0; });
  const double share =
      steps.empty() ? 0 : static_cast<double>(skipped) / static_cast<double>(steps.size());
  if (skipped < 2 || share < kSkippedSteps) return;
  Draft draft = About("loss-scale", c, StageId::None(), share,
                      fmt::format("{} of {} steps were thrown away because a gradient overflowed",
                                  skipped, steps.size()));
  Show(draft, Evidence::Kind::kStep, fmt::format("{} steps skipped by the loss scale", skipped));
  Patch patch;
  if (c.spec.has_value()) {
    const double lower = std::max(1.0, c.spec->trainer.loss_scale.initial / 64);
    patch = Setting("trainer.loss_scale.initial", lower);
    draft.words.value = fmt::format("{:.0f}", lower);
  } else {
    draft.words.value = "1024";
  }
  RecommendUnpriced(
      draft, "begin with a lower loss scale, or compute in bfloat16, which needs none",
      std::move(patch), "it is about steps that count, not about their speed", Aim::kQuality);
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
