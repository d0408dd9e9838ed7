// Row 19: updates are discarded because the loss scale was too large, or small gradients vanish
// because it stays too small.
#include <algorithm>
#include <cmath>
#include <vector>

#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::loss_scale {
namespace {

// Whether the loss scale discarded each update of the model, which is in the last of its steps.
std::vector<bool> UpdatesDiscarded(const Case& c) {
  const auto batches = static_cast<uint64_t>(BatchesPerUpdate(c));
  std::vector<bool> discarded;
  for (const trace::Step& step : c.run.rows.steps) {
    if (step.index % batches == batches - 1) discarded.push_back(step.loss_scale_skipped > 0);
  }
  return discarded;
}

size_t LongestStorm(const std::vector<bool>& discarded) {
  size_t longest = 0;
  size_t now = 0;
  for (const bool it_is : discarded) {
    now = it_is ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return longest;
}

// `all`: the steps or updates that might have been discarded; `storm`: the most in a row, as far as
// known.
void TooLarge(const Case& c, size_t skipped, size_t all, size_t storm, std::vector<Draft>& drafts) {
  const double share = static_cast<double>(skipped) / static_cast<double>(all);
  if (skipped < 2 || share < kSkippedSteps) return;
  const char* what = BatchesPerUpdate(c) > 1 ? "updates" : "steps";
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of {} {} were discarded because a gradient overflowed{}", skipped, all,
                        what, storm > 1 ? fmt::format(", up to {} in a row", storm) : ""));
  Show(draft, Evidence::Kind::kStep, fmt::format("{} {} skipped by the loss scale", skipped, what));
  Patch patch;
  if (c.spec.has_value()) {
    // Each step that is discarded halves the scale, until none is.
    const double halvings = std::max(kFewestHalvings, static_cast<double>(storm) + 1);
    double lower = std::max(1.0, c.spec->trainer.loss_scale.initial / std::exp2(halvings));
    if (skipped == all) lower = std::min(lower, kUsualLossScale);
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
void TooSmall(const Case& c, size_t updates, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->trainer.precision != Precision::kFp16) return;
  // An emulated device has no gradients.
  if (c.run.info.device.emulated()) return;
  const LossScaleSpec& scale = c.spec->trainer.loss_scale;
  if (updates < kManySteps) return;
  const auto doublings = static_cast<double>(updates / static_cast<size_t>(scale.growth_interval));
  const double last = scale.initial * std::exp2(std::min(doublings, kMostDoublings));
  if (last >= kSmallLossScale) return;
  Draft draft = About(c, StageId::None(), 0,
                      fmt::format("the loss scale never exceeds {:.0f}, and no gradient overflows: "
                                  "in float16, gradients below 0.00000006 become 0",
                                  last));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kStep,
       fmt::format("trainer.loss_scale: from {:.0f}, doubled after {}", scale.initial,
                   Counted(static_cast<uint64_t>(scale.growth_interval),
                           BatchesPerUpdate(c) > 1 ? "update" : "step")));
  draft.args.value = fmt::format("{:.0f}", kUsualLossScale);
  RecommendUnpriced(draft,
                    "start with a large loss scale: it halves itself until nothing overflows",
                    Setting("trainer.loss_scale.initial", kUsualLossScale),
                    "this affects what the model learns, not the speed", Aim::kQuality);
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.run.imported() || model::IsJob(c.run)) return FromNames(c, drafts);
  const std::vector<bool> discarded = UpdatesDiscarded(c);
  const auto skipped = static_cast<size_t>(std::count(discarded.begin(), discarded.end(), true));
  if (skipped > 0) {
    TooLarge(c, skipped, discarded.size(), LongestStorm(discarded), drafts);
  } else {
    TooSmall(c, discarded.size(), drafts);
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
