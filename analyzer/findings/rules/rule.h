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
#include <utility>
#include <vector>

#include "analyzer/findings/advice.h"
#include "analyzer/findings/effects.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/findings.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/traced_pipeline.h"

namespace stallscope::findings {

// A finding before it is priced and named.
struct Draft {
  Finding finding;
  std::optional<Effect> effect;  // nothing: the capacity law does not price it
  AdviceArgs args;
  const Advice* advice = nullptr;  // replaces the rule's; lives as long as the program
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
  bool alters = false;  // what is trained: where no gain says otherwise, other advice comes first
};

std::span<const Rule* const> AllRules();

// By the published bars.
Severity SeverityOf(double share);

Draft About(const Case& c, StageId stage, double share, std::string text);

void Show(Draft& draft, Evidence::Kind kind, std::string text);
// That `share` of step time is spent waiting for the stage.
void ShowWaiting(Draft& draft, const Case& c, StageId stage, double share);
// A counter of this name, if the run has it.
void ShowCounter(Draft& draft, const Case& c, std::string_view counter, std::string text);

// A recommendation that the law prices.
void Recommend(Draft& draft, std::string text, Patch patch, Effect effect);
// One that it cannot price: `why`, and what to record to have a price.
void RecommendUnpriced(Draft& draft, std::string text, Patch patch, std::string why,
                       Aim aim = Aim::kSpeed);
// Work that need not be done at all, in the code that does it: a recommendation that only a
// simulation of other ops prices, and that stays if it gains next to nothing.
void RecommendLessWork(Draft& draft, const Case& c, std::string text, Patch patch);
// Why a change to a job has no gain where its workers are not simulated, and how to get one. `what`
// is what it would be about.
std::string WasNotPredicted(std::string_view what);
// What to do about a loader that begins a new pass for each step, as with next(iter(loader)).
void RecommendOneIterator(Draft& draft);
// "replay it with the change"; only who has the run's spec can.
std::string ToMeasure(const Case& c);
// What a math library's threads in each process that loads are limited with.
constexpr std::string_view kOneMathThread =
    "OPENBLAS_NUM_THREADS=1 for NumPy, or a call of cv2.setNumThreads(1) for OpenCV";
constexpr const char* kOwnPool = "stallscope cannot change the job's own pool";
constexpr std::string_view kWithoutThreads =
    "one run does not show what the work takes without those threads";

// What the recommendation costs; nothing is said where `bytes` is 0, unknown.
void CostsMemory(Draft& draft, double bytes);

template <class Value>
Patch Setting(std::string path, Value value) {
  Patch patch;
  patch.changes.emplace_back(SetTo(std::move(path), value));
  return patch;
}

// The patch, if it changes the run's spec, or the one that stands for its stages or its loaders.
// Else empty: there is no such knob, or it stands so already, and the advice stays in words.
inline Patch IfItChanges(const Case& c, Patch patch) {
  const Spec* const spec = ChangeableSpec(c);
  if (spec == nullptr) return {};
  const auto changed = Apply(*spec, patch);
  return changed.ok() && !(changed.value() == *spec) ? std::move(patch) : Patch();
}

// Sets a knob of the job's loader that this stage belongs to, if it has the knob.
template <class Value>
Patch LoaderSetting(const Case& c, StageId stage, std::string_view knob, Value value) {
  if (stage.value >= c.run.stages.size()) return {};
  const LoaderId loader = c.run.stages[stage.value].loader;
  if (loader.value >= c.run.loaders.size()) return {};
  const std::string path = c.run.loaders[loader.value].name + "." + std::string(knob);
  return IfItChanges(c, Setting(path, value));
}

// Sets a knob of this stage.
template <class Value>
Patch StageSetting(const Case& c, StageId stage, std::string_view knob, Value value) {
  if (!stage.known()) return {};
  return IfItChanges(c, Setting(std::string(c.run.NameOf(stage)) + "." + std::string(knob), value));
}

}  // namespace stallscope::findings
