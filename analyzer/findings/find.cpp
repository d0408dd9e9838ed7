#include <algorithm>

#include "analyzer/findings/advice/framework.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/findings.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/worth.h"

namespace stallscope::findings {
namespace {

bool Applies(const Case& c, const Patch& patch) {
  const Spec* const spec = ChangeableSpec(c);
  return patch.changes.empty() || (spec != nullptr && Apply(*spec, patch).ok());
}

std::string WhyUnpriced(const Case& c, const Load* load) {
  if (c.attribution.window.steps == 0) {
    return "the trace has no steps to measure a throughput by; record some";
  }
  if (load == nullptr) {
    return "the trace does not say how many samples its steps had, and so no throughput";
  }
  const std::string why = "the stages' times do not explain this run's throughput; ";
  return why + (c.run.imported() ? "record it with the change to know"
                                 : "replay it with the change to measure it");
}

void Price(const Case& c, const Load* load, Draft& draft) {
  Recommendation& recommendation = *draft.finding.recommendation;
  if (!draft.effect.has_value()) return;
  if (load != nullptr) recommendation.gain = GainOf(*load, *draft.effect);
  if (!recommendation.gain.has_value()) recommendation.unpriced = WhyUnpriced(c, load);
}

// False where nothing is left to say.
bool Finish(const Case& c, const Load* load, bool price, const advice::Frameworks& frameworks,
            Draft& draft) {
  auto& recommendation = draft.finding.recommendation;
  if (!recommendation.has_value()) return true;
  if (price) Price(c, load, draft);
  if (!Applies(c, recommendation->patch) ||
      !WorthShowing(*recommendation, draft.finding.share, c.attribution.window.steps)) {
    recommendation.reset();
    return draft.finding.stands_alone;
  }
  recommendation->code = advice::Only(advice::CodeFor(draft.finding.id, draft.words), frameworks);
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
  const advice::Frameworks frameworks = advice::FrameworksOf(c.run);
  std::vector<Finding> findings;
  for (Draft& draft : drafts) {
    if (Finish(c, known, price, frameworks, draft)) findings.push_back(std::move(draft.finding));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (GainFor(a) != GainFor(b)) return GainFor(a) > GainFor(b);
    return a.share > b.share;
  });
  return findings;
}

}  // namespace stallscope::findings
