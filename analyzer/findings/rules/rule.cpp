#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings {
namespace {

Recommendation& RecommendationOf(Draft& draft, std::string text, Patch patch) {
  Recommendation& recommendation = draft.finding.recommendation.emplace();
  recommendation.text = std::move(text);
  recommendation.patch = std::move(patch);
  return recommendation;
}

}  // namespace

Severity SeverityOf(double share) {
  if (share >= kHighShare) return Severity::kHigh;
  if (share >= kModerateShare) return Severity::kMedium;
  return Severity::kLow;
}

Draft About(const Case& c, StageId stage, double share, std::string text) {
  Draft draft;
  draft.finding.stage = stage;
  draft.finding.share = share;
  draft.finding.severity = SeverityOf(share);
  draft.finding.text = std::move(text);
  // A profiler's name of an iterator is no function of the program.
  draft.args.stage = !stage.known() ? "" : c.run.imported() ? "fn" : NameOf(c, stage);
  return draft;
}

void Show(Draft& draft, Evidence::Kind kind, std::string text) {
  Evidence& evidence = draft.finding.evidence.emplace_back();
  evidence.kind = kind;
  evidence.stage = draft.finding.stage;
  evidence.text = std::move(text);
}

void ShowWaiting(Draft& draft, const Case& c, StageId stage, double share) {
  Show(
      draft, Evidence::Kind::kSpans,
      fmt::format("{}: {} of step time is spent waiting for it", NameOf(c, stage), Percent(share)));
}

void ShowCounter(Draft& draft, const Case& c, std::string_view counter, std::string text) {
  for (const auto& known : c.run.counters) {
    if (known.name != counter) continue;
    Evidence& evidence = draft.finding.evidence.emplace_back();
    evidence.kind = Evidence::Kind::kCounter;
    evidence.counter = known.id;
    evidence.text = std::move(text);
    return;
  }
}

void Recommend(Draft& draft, std::string text, Patch patch, Effect effect) {
  RecommendationOf(draft, std::move(text), std::move(patch));
  draft.effect = std::move(effect);
}

void RecommendUnpriced(Draft& draft, std::string text, Patch patch, std::string why, Aim aim) {
  Recommendation& recommendation = RecommendationOf(draft, std::move(text), std::move(patch));
  recommendation.aim = aim;
  recommendation.unpriced = std::move(why);
  draft.effect.reset();
}

void RecommendLessWork(Draft& draft, const Case& c, std::string text, Patch patch) {
  RecommendUnpriced(draft, std::move(text), std::move(patch),
                    "a run does not show how long single ops take: " + ToMeasure(c));
  draft.finding.recommendation->costs_nothing = true;
}

std::string WasNotPredicted(std::string_view what) {
  return fmt::format("{} was not predicted: `stallscope replay --verify` measures it", what);
}

void RecommendOneIterator(Draft& draft) {
  static constexpr Advice kNoCode = {};
  draft.advice = &kNoCode;
  RecommendUnpriced(draft,
                    "make one iterator before the loop (batches = iter(loader)) and take each "
                    "batch from it: now each step begins a new pass",
                    Patch(), "stallscope cannot change the job's own loop");
}

std::string ToMeasure(const Case& c) {
  return c.spec.has_value() ? "replay it with the change" : "record a run with the change";
}

void CostsMemory(Draft& draft, double bytes) {
  if (bytes != 0) draft.finding.recommendation->memory_bytes = static_cast<int64_t>(bytes);
}

}  // namespace stallscope::findings
