// Row 19: updates are discarded because the loss scale was too large, or small gradients vanish
// because it stays too small.
#include <algorithm>
#include <cmath>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::loss_scale {
namespace {

// The longest series of discarded steps.
size_t LongestStorm(const std::vector<trace::Step>& steps) {
  size_t longest = 0;
  size_t now = 0;
  for (const trace::Step& step : steps) {
    now = step.loss_scale_skipped > 0 ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return longest;
}

// `all`: the steps that might have been discarded; `storm`: the most in a row, as far as known.
void TooLarge(const Case& c, size_t skipped, size_t all, size_t storm, std::vector<Draft>& drafts) {
  const double share = static_cast<double>(skipped) / static_cast<double>(all);
  if (skipped < 2 || share < kSkippedSteps) return;
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of {} steps were discarded because a gradient overflowed{}", skipped,
                        all, storm > 1 ? fmt::format(", up to {} in a row", storm) : ""));
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

// PyTorch's GradScaler updates its scale after each step, but calls the optimizer only where no
// gradient overflowed.
void FromNames(const Case& c, std::vector<Draft>& drafts) {
  const std::optional<NamedOp> updates = OpsOfFamily(c, OpFamily::kScaleUpdate);
  const std::optional<NamedOp> made = OpsOfFamily(c, OpFamily::kOptimizerStep);
  if (!updates.has_value() || !made.has_value() || made->count >= updates->count) return;
  TooLarge(c, updates->count - made->count, updates->count, 0, drafts);
}

// No gradient ever overflowed, and the run was too short for the scale to grow.
void TooSmall(const Case& c, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->trainer.precision != Precision::kFp16) return;
  // An emulated device has no gradients.
  if (c.run.info.device.emulated()) return;
  const LossScaleSpec& scale = c.spec->trainer.loss_scale;
  const size_t steps = c.run.rows.steps.size();
  if (steps < kManySteps) return;
  const auto doublings = static_cast<double>(steps / static_cast<size_t>(scale.growth_interval));
  const double last = scale.initial * std::exp2(std::min(doublings, kMostDoublings));
  if (last >= kSmallLossScale) return;
  Draft draft = About(c, StageId::None(), 0,
                      fmt::format("the loss scale never exceeds {:.0f}, and no gradient overflows: "
                                  "in float16, gradients below 0.00000006 become 0",
                                  last));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kStep,
       fmt::format("trainer.loss_scale: from {:.0f}, doubled after {}", scale.initial,
                   Counted(static_cast<uint64_t>(scale.growth_interval), "step")));
  draft.args.value = fmt::format("{:.0f}", kUsualLossScale);
  RecommendUnpriced(draft,
                    "start with a large loss scale: it halves itself until nothing overflows",
                    Setting("trainer.loss_scale.initial", kUsualLossScale),
                    "this affects what the model learns, not the speed", Aim::kQuality);
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const auto& steps = c.run.rows.steps;
  const auto skipped = static_cast<size_t>(std::count_if(
      steps.begin(), steps.end(), [](const auto& s) { return s.loss_scale_skipped > 0; }));
  if (c.run.imported()) return FromNames(c, drafts);
  if (skipped > 0) {
    TooLarge(c, skipped, steps.size(), LongestStorm(steps), drafts);
  } else {
    TooSmall(c, drafts);
  }
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
