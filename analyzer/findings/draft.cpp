#include "analyzer/findings/draft.h"

#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

Severity SeverityOf(double share) {
  if (share >= kHighShare) return Severity::kHigh;
  if (share >= kModerateShare) return Severity::kMedium;
  return Severity::kLow;
}

Draft About(std::string id, const Case& c, StageId stage, double share, std::string text) {
  Draft draft;
  draft.finding.id = std::move(id);
  draft.finding.stage = stage;
  draft.finding.share = share;
  draft.finding.severity = SeverityOf(share);
  draft.finding.text = std::move(text);
  draft.words.stage = stage.known() ? NameOf(c, stage) : "";
  return draft;
}

void Show(Draft& draft, Evidence::Kind kind, std::string text) {
  Evidence evidence;
  evidence.kind = kind;
  evidence.stage = draft.finding.stage;
  evidence.text = std::move(text);
  draft.finding.evidence.push_back(std::move(evidence));
}

void ShowCounter(Draft& draft, const Case& c, std::string_view counter, std::string text) {
  for (const auto& known : c.run.counters) {
    if (known.name != counter) continue;
    Evidence evidence;
    evidence.kind = Evidence::Kind::kCounter;
    evidence.counter = known.id;
    evidence.text = std::move(text);
    draft.finding.evidence.push_back(std::move(evidence));
    return;
  }
}

void Recommend(Draft& draft, std::string text, Patch patch, Effect effect) {
  Recommendation recommendation;
  recommendation.text = std::move(text);
  recommendation.patch = std::move(patch);
  draft.finding.recommendation = std::move(recommendation);
  draft.effect = std::move(effect);
}

void RecommendUnpriced(Draft& draft, std::string text, Patch patch, std::string why, Aim aim) {
  Recommendation recommendation;
  recommendation.aim = aim;
  recommendation.text = std::move(text);
  recommendation.patch = std::move(patch);
  recommendation.unpriced = std::move(why);
  draft.finding.recommendation = std::move(recommendation);
  draft.effect.reset();
}

}  // namespace stallscope::findings
