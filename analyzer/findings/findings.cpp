#include "analyzer/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/findings/graph_change.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

bool Applies(const Case& c, const Patch& patch) {
  const Spec* const spec = ChangeableSpec(c);
  return patch.changes.empty() || (spec != nullptr && Apply(*spec, patch).ok());
}

std::string WhyUnpriced(const Case& c, const Load* load) {
  if (c.attribution.window.steps == 0) {
    return "the trace has no steps to measure the throughput with: record some";
  }
  if (load == nullptr) {
    return "the trace does not show how many samples its steps had, so there is no throughput";
  }
  const std::string why = "the stages' times do not explain this run's throughput: ";
  return why + (c.run.imported() ? "record it with the change"
                                 : "replay it with the change to measure it");
}

void Price(const Case& c, const Load* load, Draft& draft) {
  Recommendation& recommendation = *draft.finding.recommendation;
  if (!draft.effect.has_value()) return;
  if (model::IsJob(c.run)) {
    // A tf.data graph in a profile has no settings: only the job's own code can change.
    recommendation.unpriced =
        c.run.imported() ? "this trace does not show when the loader's threads were on a "
                           "core, and the gain depends on it: record the job with the change"
        : recommendation.patch.changes.empty()
            ? "stallscope cannot make this change: make it in the code, record the job "
              "again and compare"
            : WasNotPredicted("what this change gains");
    return;
  }
  if (draft.effect->side_by_side) {
    recommendation.unpriced = WhyNotSideBySide(c);
    if (!recommendation.unpriced.empty()) return;
  }
  if (load != nullptr) recommendation.gain = GainOf(*load, *draft.effect);
  if (!recommendation.gain.has_value()) recommendation.unpriced = WhyUnpriced(c, load);
}

bool MuchAtStake(const Finding& finding) { return finding.on_bound || finding.share >= kHighShare; }

// A change for memory or for quality leaves the bound as it is.
bool IsOnBound(Bound bound, const Rule& rule, const Finding& finding) {
  const std::optional<attribution::Category> category = CategoryOf(bound);
  const bool speeds_up =
      !finding.recommendation.has_value() || finding.recommendation->aim == Aim::kSpeed;
  return category.has_value() && speeds_up && (rule.shortens & Parts(*category)) != 0;
}

// A simulation has the last word: the law knows nothing of order, nor of what varies.
bool IsForPricer(const Recommendation& recommendation, const Pricer& pricer) {
  return pricer && !recommendation.only_measured && !recommendation.patch.changes.empty();
}

// False if nothing is left to say.
bool Finish(const Case& c, const Load* load, bool price, const Pricer& pricer, Draft& draft) {
  auto& recommendation = draft.finding.recommendation;
  if (!recommendation.has_value()) return true;
  if (price) Price(c, load, draft);
  const bool later = price && IsForPricer(*recommendation, pricer);
  if (!Applies(c, recommendation->patch) ||
      (!later &&
       !WorthShowing(*recommendation, MuchAtStake(draft.finding), c.attribution.window.steps))) {
    recommendation.reset();
    return draft.finding.stands_alone;
  }
  return true;
}

// Where a setting is applied is where the loader is constructed: others of that line get it, too.
std::string SharedSite(const Case& c, const Patch& patch) {
  const auto is_set = [&](const model::Loader& loader) {
    return std::any_of(patch.changes.begin(), patch.changes.end(), [&](const auto& change) {
      const auto* const set = std::get_if<SetChange>(&change);
      return set != nullptr && set->path.starts_with(loader.name + ".");
    });
  };
  for (const model::Loader& loader : c.run.loaders) {
    if (loader.info.file.empty() || loader.name.empty() || !is_set(loader)) continue;
    std::string others;
    for (const model::Loader& other : c.run.loaders) {
      const bool same = other.info.file == loader.info.file && other.info.line == loader.info.line;
      if (&other == &loader || !same) continue;
      others += (others.empty() ? "" : ", ") + other.name;
    }
    if (others.empty()) continue;
    return fmt::format("; {} is constructed at {}, as is {}: the setting applies to all of them",
                       loader.name, words::PlaceInCode(loader.info.file, loader.info.line), others);
  }
  return "";
}

// The rules whose advice changes a call that builds a graph.
std::optional<GraphEdit> GraphEditOf(const Finding& finding) {
  if (finding.id == "map-parallelism") return GraphEdit::kInParallel;
  if (finding.id == "order") return GraphEdit::kAnyOrder;
  if (finding.id == "prefetch") return GraphEdit::kAhead;
  return std::nullopt;
}

// A rule may have named a place; the default is where the loader is constructed.
void FindPlace(const Case& c, Finding& finding) {
  if (finding.recommendation.has_value()) {
    const Patch& patch = finding.recommendation->patch;
    if (const auto edit = GraphEditOf(finding)) {
      finding.changes = GraphChangesOf(c.run, finding.stage, *edit, patch);
    }
    // A loader's setting may be one of the calls that build its graph.
    if (finding.changes.empty()) finding.changes = SourceChangesOf(c.run, patch);
  }
  if (!finding.where.file.empty()) return;
  if (!finding.changes.empty()) {
    const SourceChange& change = finding.changes.front();
    finding.where = {change.file, change.line, change.extent};
  } else if (const model::Loader* const loader = JobLoaderOf(c, finding.stage)) {
    finding.where = {loader->info.file, loader->info.line, ExtentOf(loader->info.call)};
  } else {
    const GraphPlace place = GraphPlaceOf(c.run, finding.stage);
    finding.where = {place.file, place.line};
  }
}

const Rule* RuleNamed(std::string_view id) {
  for (const Rule* const rule : AllRules()) {
    if (rule->id == id) return rule;
  }
  return nullptr;
}

double GainFor(const Finding& finding) {
  const bool priced =
      finding.recommendation.has_value() && finding.recommendation->gain.has_value();
  return priced ? finding.recommendation->gain->predicted : 0;
}

// Less work in the input may let the rest of it keep up with the device: then the whole stall goes,
// and a change gains more than its own share is worth.
void ExplainGainBeyondShare(const Case& c, Finding& finding) {
  const bool priced =
      finding.recommendation.has_value() && finding.recommendation->gain.has_value();
  if (!priced || finding.share <= 0 || finding.share >= 1) return;
  const Rule* const rule = RuleNamed(finding.id);
  const double stall = Share(c, Category::kInputStall);
  const bool of_input = rule != nullptr && (rule->shortens & Parts(Category::kInputStall)) != 0;
  if (!of_input || stall <= finding.share) return;
  if (finding.recommendation->gain->predicted * (1 - finding.share) <= kMoreThanItsShare) return;
  Evidence& evidence = finding.evidence.emplace_back();
  evidence.stage = finding.stage;
  evidence.text = fmt::format(
      "the rest of the input then keeps up with the device: more of the {} of step time that is "
      "spent waiting for input goes with it",
      Percent(stall));
}

// What is not predicted has a limit nevertheless: no change of the input does better than a run
// that never waits for it. A loader that feeds no steps is no part of the stall. What is received
// as many objects costs the trainer time behind the wait, too.
void LimitUnpriced(const Case& c, Finding& finding) {
  if (!finding.recommendation.has_value()) return;
  Recommendation& recommendation = *finding.recommendation;
  const Rule* const rule = RuleNamed(finding.id);
  const model::Loader* const loader = JobLoaderOf(c, finding.stage);
  const double taken = TakenByInput(c.attribution);
  const double stall = Share(c, Category::kInputStall) + taken;
  const bool of_stall = rule != nullptr && loader != nullptr && loader->steps > 0 &&
                        !model::IsTransport(c.run, finding.stage) &&
                        (rule->shortens & Parts(Category::kInputStall)) != 0;
  if (!of_stall || recommendation.unpriced.empty() || recommendation.gain.has_value() ||
      recommendation.ranged || recommendation.aim != Aim::kSpeed || stall <= 0 ||
      stall >= kLimitTells) {
    return;
  }
  recommendation.unpriced += fmt::format("; at most about {}, without any wait for input{}",
                                         words::Factor(1 / (1 - stall)),
                                         taken > 0 ? ", or for the cores that it has" : "");
}

// The risk is named before the advice that raises it.
void WarnOfMemory(const Case& c, Recommendation& recommendation) {
  const int64_t more = recommendation.memory_bytes.value_or(0);
  const auto free = static_cast<double>(FreeMemory(c));
  if (more <= 0 || free <= 0 || static_cast<double>(more) <= kCacheableMemory * free) return;
  recommendation.text =
      fmt::format("free some memory first (this needs {}, and {} is left), then {}",
                  Bytes(static_cast<double>(more)), Bytes(free), recommendation.text);
}

// False for a figure that may well be none.
bool GainsForSure(const Recommendation& recommendation) {
  if (!recommendation.gain.has_value()) return true;
  return recommendation.gain->predicted > 1 && recommendation.gain->low >= kLeastShownGain;
}

}  // namespace

bool IsMarginal(const Finding& finding) {
  return finding.recommendation.has_value() && finding.recommendation->costs_nothing &&
         !GainsForSure(*finding.recommendation);
}

bool WorthShowing(Recommendation& recommendation, bool much_at_stake, uint64_t steps) {
  if (recommendation.aim != Aim::kSpeed || !recommendation.gain.has_value()) return true;
  const Gain& gain = *recommendation.gain;
  if (GainsForSure(recommendation)) return true;
  // As far as a simulated mean can tell, it loses nothing.
  if (recommendation.costs_nothing) return gain.predicted * kMoreThanItsShare >= 1;
  if (gain.predicted <= 1) return false;
  if (!much_at_stake || gain.predicted < kPromisingGain || steps >= kTellingSteps) return false;
  // Few steps that differ much make an interval that reaches past standing still.
  recommendation.unpriced = fmt::format(
      "{} steps are too few to tell: anything from {:.2f} to {:.2f} times as fast; record at least "
      "{} behind the warm-up",
      steps, std::max(gain.low, 0.0), gain.high, kTellingSteps);
  recommendation.ranged = true;
  recommendation.gain.reset();
  return true;
}

std::vector<Finding> Settled(std::vector<Finding> findings, uint64_t steps, const Pricer& pricer) {
  // False if nothing is left to say.
  const auto settle = [&](Finding& finding) {
    auto& recommendation = finding.recommendation;
    if (!recommendation.has_value() || !IsForPricer(*recommendation, pricer)) return true;
    pricer(*recommendation);
    if (WorthShowing(*recommendation, MuchAtStake(finding), steps)) return true;
    recommendation.reset();
    return finding.stands_alone;
  };
  std::erase_if(findings, [&](Finding& finding) { return !settle(finding); });
  const bool advised = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.on_bound && finding.recommendation.has_value() && !IsMarginal(finding);
  });
  std::erase_if(findings, [&](const Finding& finding) { return finding.last_resort && advised; });
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (IsMarginal(a) != IsMarginal(b)) return IsMarginal(b);
    if (a.on_bound != b.on_bound) return a.on_bound;
    if (GainFor(a) != GainFor(b)) return GainFor(a) > GainFor(b);
    if (a.on_stage != b.on_stage) return a.on_stage;
    if (a.severity != b.severity) return a.severity > b.severity;
    if (a.alters != b.alters) return b.alters;
    return a.share > b.share;
  });
  return findings;
}

std::vector<Finding> Find(const Case& c, bool price, const Pricer& pricer) {
  const std::optional<Load> load = LoadOf(c);
  const Load* known = load.has_value() ? &*load : nullptr;
  const Frameworks frameworks = FrameworksOf(c.run);
  std::vector<Finding> findings;
  for (const Rule* rule : AllRules()) {
    std::vector<Draft> drafts;
    rule->check(c, known, drafts);
    for (Draft& draft : drafts) {
      Finding& finding = draft.finding;
      finding.id = rule->id;
      finding.alters = rule->alters;
      finding.on_bound = IsOnBound(c.verdict.bound, *rule, finding);
      finding.on_stage = finding.on_bound && finding.stage == c.verdict.stage;
      if (!Finish(c, known, price, pricer, draft)) continue;
      if (finding.recommendation.has_value()) {
        finding.recommendation->of_stages = c.run.imported() && !model::IsJob(c.run);
        finding.recommendation->text += SharedSite(c, finding.recommendation->patch);
        const Advice& advice = draft.advice != nullptr ? *draft.advice : rule->advice;
        finding.recommendation->code = Only(CodeOf(advice, draft.args), frameworks);
      }
      findings.push_back(std::move(finding));
    }
  }
  findings = Settled(std::move(findings), c.attribution.window.steps, price ? pricer : Pricer());
  for (Finding& finding : findings) {
    ExplainGainBeyondShare(c, finding);
    LimitUnpriced(c, finding);
    if (finding.recommendation.has_value()) WarnOfMemory(c, *finding.recommendation);
    FindPlace(c, finding);
  }
  return findings;
}

}  // namespace stallscope::findings
