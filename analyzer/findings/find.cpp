#include <algorithm>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/findings.h"
#include "analyzer/findings/rules/rules.h"

namespace stallscope::findings {
namespace {

bool Applies(const Case& c, const Patch& patch) {
  return patch.changes.empty() || (c.spec.has_value() && Apply(*c.spec, patch).ok());
}

void Price(const Load* load, Draft& draft) {
  Recommendation& recommendation = *draft.finding.recommendation;
  if (!draft.effect.has_value()) return;
  if (load != nullptr) recommendation.gain = GainOf(*load, *draft.effect);
  if (recommendation.gain.has_value()) return;
  recommendation.unpriced = load == nullptr
                                ? "the trace has no steps to measure a throughput by; record some"
                                : "the stages' times do not explain this run's throughput; replay "
                                  "it with the change to measure it";
}

bool HoldsOne(const Gain& gain) { return gain.low <= 1 && gain.high >= 1; }

// A change for speed must bring some: neither nothing nor the opposite is worth showing.
bool WorthShowing(const Recommendation& recommendation) {
  if (recommendation.aim != Aim::kSpeed || !recommendation.gain.has_value()) return true;
  return !HoldsOne(*recommendation.gain) && recommendation.gain->predicted > 1;
}

// False where nothing is left to say.
bool Finish(const Case& c, const Load* load, bool price, Draft& draft) {
  auto& recommendation = draft.finding.recommendation;
  if (!recommendation.has_value()) return true;
  if (price) Price(load, draft);
  if (!Applies(c, recommendation->patch) || !WorthShowing(*recommendation)) {
    recommendation.reset();
    return draft.finding.stands_alone;
  }
  recommendation->code = advice::CodeFor(draft.finding.id, draft.words);
  return true;
}

double GainFor(const Finding& finding) {
  const bool priced =
      finding.recommendation.has_value() && finding.recommendation->gain.has_value();
  return priced ? finding.recommendation->gain->predicted : 0;
}

}  // namespace

std::vector<Finding> Find(const Case& c, bool price) {
  const std::optional<Load> load = LoadOf(c);
  const Load* known = load.has_value() ? &*load : nullptr;
  std::vector<Draft> drafts;
  for (const RuleEntry& entry : AllRules()) entry.rule(c, known, drafts);
  std::vector<Finding> findings;
  for (Draft& draft : drafts) {
    if (Finish(c, known, price, draft)) findings.push_back(std::move(draft.finding));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (GainFor(a) != GainFor(b)) return GainFor(a) > GainFor(b);
    return a.share > b.share;
  });
  return findings;
}

}  // namespace stallscope::findings
