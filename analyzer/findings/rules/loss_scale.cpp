// Row 19: updates are discarded because the loss scale was too large.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::loss_scale {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const auto& steps = c.run.rows.steps;
  const auto skipped = std::count_if(steps.begin(), steps.end(),
                                     [](const auto& s) { return s.loss_scale_skipped > 0; });
  const double share =
      steps.empty() ? 0 : static_cast<double>(skipped) / static_cast<double>(steps.size());
  if (skipped < 2 || share < kSkippedSteps) return;
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} of {} steps were discarded because a gradient overflowed",
                                  skipped, steps.size()));
  Show(draft, Evidence::Kind::kStep, fmt::format("{} steps skipped by the loss scale", skipped));
  Patch patch;
  if (c.spec.has_value()) {
    const double lower = std::max(1.0, c.spec->trainer.loss_scale.initial / kLowerLossScale);
    patch = Setting("trainer.loss_scale.initial", lower);
    draft.args.value = fmt::format("{:.0f}", lower);
  } else {
    draft.args.value = "1024";
  }
  RecommendUnpriced(
      draft, "start with a lower loss scale, or compute in bfloat16, which needs none",
      std::move(patch), "this affects how many steps count, not their speed", Aim::kQuality);
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "loss-scale",
    .row = 19,
    .check = Check,
    .advice = {
        .tf_data =
            R"py(optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer, initial_scale={value}))py",
        .pytorch = R"py(scaler = torch.amp.GradScaler("cuda", init_scale={value}))py",
    }};

}  // namespace stallscope::findings::loss_scale
