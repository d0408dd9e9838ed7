// What a rule is, and what it writes. Each file of this folder defines one, `kRule`, in a namespace
// of the file's name; CMakeLists.txt lists the files in the order in which the rules run. Private
// to the room.
//
// A rule reads a case and adds drafts of what it found; it knows no other rule, and is pure. Every
// number that it decides by is in thresholds.h. This header gives it all that rules write with.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/findings/advice.h"
#include "analyzer/findings/effects.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/findings.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

// A finding before it is priced and named.
struct Draft {
  Finding finding;
  std::optional<Effect> effect;  // nothing: the capacity law does not price it
  AdviceArgs args;
};

// A set of parts of step time.
template <class... Categories>
constexpr unsigned Parts(Categories... categories) {
  return (0U | ... | (1U << At(categories)));
}

struct Rule {
  std::string_view id = {};  // of its findings
  int row = 0;               // of the checklist; 0: of no single technique
  unsigned shortens = 0;     // the parts of step time that its change is about
  // `load` is null where the run has no steps or no throughput.
  void (*check)(const Case& c, const Load* load, std::vector<Draft>& drafts) = nullptr;
  Advice advice = {};
};

std::span<const Rule* const> AllRules();

// By the published bars.
Severity SeverityOf(double share);

Draft About(const Case& c, StageId stage, double share, std::string text);

void Show(Draft& draft, Evidence::Kind kind, std::string text);
// A counter of this name, if the run has it.
void ShowCounter(Draft& draft, const Case& c, std::string_view counter, std::string text);

// A recommendation that the law prices.
void Recommend(Draft& draft, std::string text, Patch patch, Effect effect);
// One that it cannot price: `why`, and what to record to have a price.
void RecommendUnpriced(Draft& draft, std::string text, Patch patch, std::string why,
                       Aim aim = Aim::kSpeed);
// What the recommendation costs; nothing is said where `bytes` is 0, unknown.
void CostsMemory(Draft& draft, double bytes);

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
