// What a rule says before it is priced. Private to the room.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_DRAFT_H_
#define STALLSCOPE_ANALYZER_FINDINGS_DRAFT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/advice/advice.h"
#include "analyzer/findings/capacity.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/findings.h"

namespace stallscope::findings {

struct Draft {
  Finding finding;
  std::optional<Effect> effect;  // nothing: the capacity law does not price it
  advice::Words words;           // for the code
};

// `load` is null where the run has no steps or no throughput.
using Rule = void (*)(const Case& c, const Load* load, std::vector<Draft>& drafts);

// By the published bars.
Severity SeverityOf(double share);

Draft About(std::string id, const Case& c, StageId stage, double share, std::string text);

void Show(Draft& draft, Evidence::Kind kind, std::string text);
// A counter of this name, if the run has it.
void ShowCounter(Draft& draft, const Case& c, std::string_view counter, std::string text);

// A recommendation that the law prices.
void Recommend(Draft& draft, std::string text, Patch patch, Effect effect);
// One that it cannot price: `why`, and what to record to have a price.
void RecommendUnpriced(Draft& draft, std::string text, Patch patch, std::string why,
                       Aim aim = Aim::kSpeed);

template <class Value>
Patch Setting(std::string path, Value value) {
  Patch patch;
  patch.changes.emplace_back(SetTo(std::move(path), value));
  return patch;
}

// Sets a knob of this stage: by the run's spec, or by the one that stands for its stages. Empty
// where neither has the stage, where its kind has no such knob, and where the knob stands so
// already: the advice stays in words.
template <class Value>
Patch StageSetting(const Case& c, StageId stage, std::string_view knob, Value value) {
  const Spec* const spec = ChangeableSpec(c);
  if (spec == nullptr || !stage.known()) return {};
  Patch patch = Setting(std::string(c.run.NameOf(stage)) + "." + std::string(knob), value);
  const auto changed = Apply(*spec, patch);
  return changed.ok() && !(changed.value() == *spec) ? patch : Patch();
}

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_DRAFT_H_
