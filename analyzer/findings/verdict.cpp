#include "analyzer/findings/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzer/findings/thresholds.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

using attribution::Attribution;
using attribution::Category;
using attribution::CategoryTotal;
using attribution::Cause;

struct Candidate {
  Bound bound;
  Category category;
  double fraction = 0;
  double low = 0;
};

double Fraction(const Attribution& attribution, Category category) {
  const auto& total = attribution.breakdown[attribution::At(category)];
  return total.has_value() ? total->fraction : 0;
}

// Of step time, without what the input takes from it.
double Computes(const Attribution& attribution) {
  return Fraction(attribution, Category::kCompute) - TakenByInput(attribution);
}

// The four that may name a bound, largest first.
std::array<Candidate, 4> Candidates(const Attribution& attribution) {
  std::array<Candidate, 4> candidates = {{{Bound::kInput, Category::kInputStall},
                                          {Bound::kTransfer, Category::kTransfer},
                                          {Bound::kLaunch, Category::kLaunch},
                                          {Bound::kCommunication, Category::kCommunication}}};
  for (Candidate& candidate : candidates) {
    const auto& total = attribution.breakdown[attribution::At(candidate.category)];
    if (!total.has_value()) continue;
    const double taken = candidate.bound == Bound::kInput ? TakenByInput(attribution) : 0;
    candidate.fraction = total->fraction + taken;
    candidate.low = total->low + taken;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.fraction > b.fraction; });
  return candidates;
}

double Part(uint64_t lost, uint64_t all) {
  return all == 0 ? 0 : std::min(1.0, static_cast<double>(lost) / static_cast<double>(all));
}

// Of the time of the trainer's thread.
double LostOfTrainer(const model::Run& run, const attribution::Window& window) {
  const auto& steps = run.rows.steps;
  if (steps.empty() || !steps.front().track.known() || window.ns() <= 0) return 0;
  int64_t missing = 0;
  int64_t until = window.start_ns;
  for (const trace::Gap& gap : run.GapsOf(steps.front().track)) {  // by time, may overlap
    const int64_t end = std::min(gap.to_ns, window.end_ns);
    missing += std::max<int64_t>(0, end - std::max(gap.from_ns, until));
    until = std::max(until, end);
  }
  return static_cast<double>(missing) / static_cast<double>(window.ns());
}

// What part of the run is missing: of its steps, of the trainer's time, of the file's frames or of
// the recorder's events, whichever is worst.
double Lost(const model::Run& run, const Attribution& attribution) {
  const auto& steps = run.rows.steps;
  double lost = LostOfTrainer(run, attribution.window);
  if (steps.size() > 1) {
    uint64_t seen = 1;
    for (size_t i = 1; i < steps.size(); ++i) {
      if (steps[i].index != steps[i - 1].index) ++seen;
    }
    const double span = static_cast<double>(steps.back().index - steps.front().index) + 1;
    lost = std::max(lost, 1 - static_cast<double>(seen) / span);
  }
  const model::DataQuality& quality = run.quality;
  lost = std::max(lost, Part(quality.missing_frames, quality.frames + quality.missing_frames));
  return std::max(lost, Part(quality.dropped, quality.emitted.value_or(0)));
}

Bound BoundOf(const Attribution& attribution, const std::array<Candidate, 4>& candidates) {
  const double compute = Computes(attribution);
  if (compute >= kFullDeviceUse) return Bound::kCompute;
  const Candidate& first = candidates[0];
  if (first.fraction >= kNamesTheBound &&
      first.fraction >= kClearlyFirst * candidates[1].fraction) {
    return first.bound;
  }
  if (compute >= kMostlyCompute && first.fraction < kNamesTheBound) return Bound::kCompute;
  return Bound::kBalanced;
}

void Doubt(double factor, std::string why, Verdict& verdict) {
  verdict.confidence *= factor;
  verdict.doubts.push_back(std::move(why));
}

// How near the run is to another bound.
void DoubtTheBound(const Attribution& attribution, const std::array<Candidate, 4>& candidates,
                   Verdict& verdict) {
  const double compute = Computes(attribution);
  const Candidate& first = candidates[0];
  const Candidate& second = candidates[1];
  switch (verdict.bound) {
    case Bound::kCompute:
      if (const double waits = ReadyWithoutCore(attribution); waits > 0) {
        Doubt(kPlainDoubt,
              fmt::format("the trainer computes on the host, and for {} of step time its thread "
                          "is ready without a core",
                          words::Percent(waits)),
              verdict);
      }
      if (first.fraction < kNamesTheBound - kNear) return;
      if (compute < kFullDeviceUse) {
        Doubt(kPlainDoubt,
              fmt::format("{} is nearly large enough to be the bound",
                          attribution::WordFor(first.category)),
              verdict);
      } else if (compute < kFullDeviceUse + kNear) {
        Doubt(kPlainDoubt,
              fmt::format("compute covers {:.1f}% of step time, just enough", 100 * compute),
              verdict);
      }
      return;
    case Bound::kBalanced:
      if (first.fraction >= kNamesTheBound && first.fraction >= kNearlyFirst * second.fraction) {
        Doubt(kPlainDoubt, "one category is nearly large enough to be the bound", verdict);
      }
      return;
    case Bound::kInconclusive:
      return;
    case Bound::kInput:
    case Bound::kTransfer:
    case Bound::kLaunch:
    case Bound::kCommunication:
      break;
  }
  if (verdict.bound == Bound::kLaunch && attribution.slowed_by_profiler.value_or(0) > 0) {
    const double slowed = *attribution.slowed_by_profiler;
    const double input = Fraction(attribution, Category::kInputStall);
    const double added = slowed / (1 + slowed) * (1 - input);
    if (first.fraction - added < std::max(second.fraction, compute)) {
      Doubt(kStrongDoubt,
            fmt::format("the profiler adds {} to what the trainer does with a batch: without it, "
                        "launches may not bound the job",
                        words::Percent(slowed)),
            verdict);
    }
  }
  if (first.low < kNamesTheBound) {
    Doubt(kStrongDoubt,
          fmt::format("{} may be less than {:.0f}% of step time",
                      attribution::WordFor(first.category), 100 * kNamesTheBound),
          verdict);
  }
  if (first.fraction < kHardlyFirst * second.fraction) {
    Doubt(kPlainDoubt,
          fmt::format("{} is nearly as large as {}", attribution::WordFor(second.category),
                      attribution::WordFor(first.category)),
          verdict);
  }
  if (compute > kFullDeviceUse - kNear) {
    Doubt(kPlainDoubt, fmt::format("compute covers {:.1f}% of step time", 100 * compute), verdict);
  }
}

// The stage that has most of the cores which the trainer's thread is ready for.
void NameTheTaker(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  int64_t most = 0;
  for (const attribution::StageUse& use : attribution.stages) {
    if (model::IsTrainer(run, use.stage) || use.cpu_ns <= most) continue;
    most = use.cpu_ns;
    verdict.stage = use.stage;
  }
  verdict.cause = Cause::kCpuContention;
  Doubt(kPlainDoubt,
        fmt::format("only {} of step time is a wait for a batch, but for {} the trainer's thread "
                    "is ready while the input has the cores",
                    words::Percent(Fraction(attribution, Category::kInputStall)),
                    words::Percent(TakenByInput(attribution))),
        verdict);
}

// The stage with the most blame, and what kept it most.
void NameTheStage(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  std::map<StageId, int64_t> stages;
  std::map<std::pair<StageId, Cause>, int64_t> causes;
  int64_t all = 0;
  for (const attribution::Blame& blame : attribution.blame) {
    stages[blame.stage] += blame.ns;
    causes[{blame.stage, blame.cause}] += blame.ns;
    all += blame.ns;
  }
  if (all == 0) return;
  int64_t most = -1;
  int64_t second = 0;
  for (const auto& [stage, ns] : stages) {
    if (ns > most) {
      second = std::max<int64_t>(most, 0);
      most = ns;
      verdict.stage = stage;
    } else {
      second = std::max(second, ns);
    }
  }
  int64_t most_cause = -1;
  for (const auto& [key, ns] : causes) {
    if (key.first != verdict.stage || ns <= most_cause) continue;
    most_cause = ns;
    verdict.cause = key.second;
  }
  const auto share = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  if (share(second, most) > kNearlyAsMuch) {
    Doubt(kContradicted, "another stage is blamed nearly as much", verdict);
  } else if (share(second, most) > 0.5) {
    Doubt(kSlightDoubt, "another stage is blamed more than half as much", verdict);
  }
  if (share(most_cause, most) < 0.5) {
    Doubt(kSlightDoubt,
          fmt::format("waiting for '{}' has several causes, none of them more than half",
                      run.NameOf(verdict.stage)),
          verdict);
  }
  if (verdict.cause == Cause::kUnknown) {
    Doubt(kStrongDoubt, "the trace does not show what delayed the stage", verdict);
  }
  if (!attribution.cross_check.agrees) Doubt(kStrongDoubt, attribution.cross_check.text, verdict);
}

// --- The causal check ---

using attribution::Sensitivity;

// Slowing the stage costs throughput beyond doubt.
bool IsFelt(const Sensitivity& of) { return of.bounded && of.high <= -kFeltSensitivity; }
bool HasTimeToSpare(const Sensitivity& of) { return of.bounded && of.low > -kFeltSensitivity; }

const Sensitivity* SensitivityOf(const Attribution& attribution, StageId stage) {
  for (const Sensitivity& of : attribution.sensitivities) {
    if (of.stage == stage) return &of;
  }
  return nullptr;
}

// The stage that costs most; null if none is felt.
const Sensitivity* MostSensitive(const Attribution& attribution) {
  const Sensitivity* most = nullptr;
  for (const Sensitivity& of : attribution.sensitivities) {
    if (IsFelt(of) && (most == nullptr || of.mean < most->mean)) most = &of;
  }
  return most;
}

// "slowing 'decode' by 25% changed the throughput by -18%"
std::string SlowingPhrase(const model::Run& run, const Sensitivity& of) {
  const double change = std::pow(1 + of.slowed_by, of.mean) - 1;
  return fmt::format("slowing '{}' by {:.0f}% changed the throughput by {:+.0f}%",
                     run.NameOf(of.stage), 100 * of.slowed_by, 100 * change + 0.0);
}

// The stage's largest cause by its blame, or by its work if it has none.
std::optional<Cause> CauseOf(const Attribution& attribution, StageId stage) {
  for (const attribution::Blame& blame : attribution.blame) {  // largest first
    if (blame.stage == stage) return blame.cause;
  }
  for (const attribution::StageUse& use : attribution.stages) {
    if (use.stage != stage) continue;
    const std::array<std::pair<int64_t, Cause>, 4> parts = {
        {{use.cpu_ns, Cause::kCpu},
         {use.io_ns, Cause::kIo},
         {use.blocked_ns, Cause::kBlocked},
         {use.contention_ns, Cause::kCpuContention}}};
    return std::max_element(parts.begin(), parts.end())->second;
  }
  return std::nullopt;
}

// For an input-bound run: the blamed stage should be the one that costs throughput when slowed. If
// another one costs more, beyond both intervals, the verdict names that one.
void CheckTheStage(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  const Sensitivity* const named = SensitivityOf(attribution, verdict.stage);
  const Sensitivity* const most = MostSensitive(attribution);
  const bool spare = named != nullptr && HasTimeToSpare(*named);
  if (most == nullptr || most == named || model::IsTrainer(run, most->stage)) {
    if (!spare) return;
    std::string why = SlowingPhrase(run, *named);
    if (most != nullptr) why += ", " + SlowingPhrase(run, *most);
    Doubt(kContradicted, why + ": the blame and this check disagree", verdict);
    return;
  }
  const bool wins = named != nullptr ? named->bounded && most->high < named->low
                                     : most->high <= -kMostOfSensitivity;
  if (!wins) return;
  std::string why = SlowingPhrase(run, *most);
  if (named != nullptr) why += ", " + SlowingPhrase(run, *named);
  Doubt(kStrongDoubt,
        fmt::format("{}: the check names '{}', although '{}' is blamed most", why,
                    run.NameOf(most->stage), run.NameOf(verdict.stage)),
        verdict);
  verdict.stage = most->stage;
  verdict.cause = CauseOf(attribution, most->stage);
}

// For a run bound by the trainer's side: no input stage should cost throughput while the trainer
// has time to spare.
void CheckTheTrainer(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  const Sensitivity* const most = MostSensitive(attribution);
  if (most == nullptr || model::IsTrainer(run, most->stage)) return;
  for (const Sensitivity& of : attribution.sensitivities) {
    if (!model::IsTrainer(run, of.stage) || !HasTimeToSpare(of)) continue;
    Doubt(kContradicted,
          fmt::format("{}, {}: the step times and this check disagree", SlowingPhrase(run, *most),
                      SlowingPhrase(run, of)),
          verdict);
    return;
  }
}

void CheckBySensitivity(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  if (verdict.bound == Bound::kInput) {
    CheckTheStage(run, attribution, verdict);
  } else if (verdict.bound != Bound::kBalanced) {
    CheckTheTrainer(run, attribution, verdict);
  }
}

std::string_view PhraseFor(Category category) {
  return category == Category::kInputStall ? "waiting for input" : attribution::WordFor(category);
}

std::string LackOfCores(const Attribution& attribution, const Candidate& first, Bound bound) {
  const double waits = ReadyWithoutCore(attribution);
  if (bound == Bound::kCompute || waits <= first.fraction) return "";
  if (TakenByInput(attribution) > 0) return "";  // the verdict says it
  const std::string than =
      first.fraction > 0 ? fmt::format(", more than {} takes", PhraseFor(first.category)) : "";
  return fmt::format(
      "for up to {} of step time the trainer's thread is ready without a core{}: "
      "fewer busy threads, or more cores, help first",
      words::Percent(waits), than);
}

std::string AlsoOf(const Attribution& attribution, const std::array<Candidate, 4>& candidates,
                   Bound bound) {
  std::string also = LackOfCores(attribution, candidates[0], bound);
  bool first = true;
  for (const Candidate& candidate : candidates) {
    if (candidate.bound == bound || candidate.fraction < kModerateShare) continue;
    const std::string share = words::Percent(candidate.fraction);
    const std::string gain = words::Factor(1 / std::max(1e-3, 1 - candidate.fraction));
    const std::string_view what = PhraseFor(candidate.category);
    if (!also.empty()) also += "; ";
    also += first ? fmt::format(
                        "{} takes {} of step time: without it the run would be at most {} "
                        "as fast",
                        what, share, gain)
                  : fmt::format("{} takes {}: at most {}", what, share, gain);
    first = false;
  }
  return also;
}

std::string TextOf(const model::Run& run, const Verdict& verdict) {
  const std::string bound(WordFor(verdict.bound));
  if (verdict.bound == Bound::kBalanced || verdict.bound == Bound::kInconclusive) return bound;
  if (!verdict.cause.has_value()) return bound + "-bound";
  const std::string_view stage =
      verdict.stage.known() ? run.NameOf(verdict.stage) : std::string_view("unknown stage");
  return fmt::format("{}-bound: {} ({})", bound, stage, attribution::WordFor(*verdict.cause));
}

}  // namespace

std::string_view WordFor(Bound bound) {
  constexpr std::array<std::string_view, 7> kWords = {
      "input", "transfer", "compute", "launch", "communication", "balanced", "inconclusive"};
  return kWords[static_cast<size_t>(bound)];
}

double TakenByInput(const Attribution& attribution) {
  if (ReadyWithoutCore(attribution) == 0) return 0;
  const double compute = Fraction(attribution, Category::kCompute);
  const double taken = std::min(attribution.cpu.taken_by_input.value_or(0), compute);
  const double stall = Fraction(attribution, Category::kInputStall);
  return taken > stall && stall + taken > compute - taken ? taken : 0;
}

double ReadyWithoutCore(const Attribution& attribution) {
  // Beside a device the thread that launches may wait without anybody waiting for it.
  if (!attribution.devices.empty()) return 0;
  const double waits = attribution.cpu.trainer_run_wait.value_or(0);
  return waits >= kModerateShare ? waits : 0;
}

std::optional<Category> CategoryOf(Bound bound) {
  switch (bound) {
    case Bound::kInput:
      return Category::kInputStall;
    case Bound::kTransfer:
      return Category::kTransfer;
    case Bound::kCompute:
      return Category::kCompute;
    case Bound::kLaunch:
      return Category::kLaunch;
    case Bound::kCommunication:
      return Category::kCommunication;
    case Bound::kBalanced:
    case Bound::kInconclusive:
      break;
  }
  return std::nullopt;
}

// The profiled steps need not wait where the others do: beside a full buffer, say.
std::string WhereOthersWait(const attribution::BesideProfile& beside) {
  const auto& [profiled, others] = beside;
  if (profiled.waiting >= kHighShare || others.waiting - profiled.waiting < kUnlikeWaits) return "";
  return fmt::format(
      "the {} profiled steps wait for their batches for {} of the time, the {} others for {}",
      profiled.steps, words::Percent(profiled.waiting), others.steps,
      words::Percent(others.waiting));
}

// What the other steps' time is for is not in the profile. Keras waits for a batch within its step,
// which shows it as work: an epoch's first step may fill a buffer.
std::string WhereOthersTakeLonger(const attribution::BesideProfile& beside) {
  const auto& [profiled, others] = beside;
  if (others.work_ns <= 0 || 1 - profiled.work_ns / others.work_ns < kUnlikeWaits) return "";
  return fmt::format(
      "the {} profiled steps take {} each, the {} others {} on average, and up to {}: what they do "
      "in that time is not in the profile",
      profiled.steps, words::Duration(profiled.work_ns), others.steps,
      words::Duration(others.work_ns), words::Duration(others.longest_ns));
}

// Judges a run of which the profiled steps are no sample; false where they may be one. The waits of
// the others are recorded, but not what they are for.
bool JudgeBeside(const Attribution& attribution, Verdict& verdict) {
  if (!attribution.beside_profile.has_value()) return false;
  std::string unlike = WhereOthersWait(*attribution.beside_profile);
  if (!unlike.empty()) {
    verdict.bound = Bound::kInput;
    verdict.beside_profile = true;
    verdict.confidence = 1;
    Doubt(kStrongDoubt, unlike + ": what they wait for is not in the profile", verdict);
    return true;
  }
  if (Fraction(attribution, Category::kInputStall) >= kHighShare) return false;
  unlike = WhereOthersTakeLonger(*attribution.beside_profile);
  if (unlike.empty()) return false;
  verdict.doubts.push_back(std::move(unlike));
  return true;
}

void JudgeByShares(const model::Run& run, const Attribution& attribution, Verdict& verdict) {
  const auto candidates = Candidates(attribution);
  verdict.confidence = 1;
  verdict.bound = BoundOf(attribution, candidates);
  verdict.also = AlsoOf(attribution, candidates, verdict.bound);
  DoubtTheBound(attribution, candidates, verdict);
  if (verdict.bound == Bound::kInput) {
    (TakenByInput(attribution) > 0 ? NameTheTaker : NameTheStage)(run, attribution, verdict);
  }
  CheckBySensitivity(run, attribution, verdict);
}

// However it was judged: few steps, or part of the run is missing.
void DoubtTheRecording(const Attribution& attribution, size_t steps, double lost,
                       Verdict& verdict) {
  // Of a wait for a batch the other steps show as much as the profiled ones.
  const auto& seen = attribution.window.profiled;
  const bool by_profile = seen.has_value() && verdict.bound != Bound::kInput;
  const size_t judged = by_profile ? std::min(steps, seen->rows) : steps;
  if (judged < kManySteps) {
    Doubt(0.5 + 0.5 * static_cast<double>(judged) / kManySteps,
          fmt::format("only {} steps are {}", judged,
                      by_profile || attribution.window.profiled_of != 0 ? "profiled" : "recorded"),
          verdict);
  }
  if (lost > 0) Doubt(1 - lost, fmt::format("{:.1f}% of the run is missing", 100 * lost), verdict);
  if (attribution.cpu.steal.value_or(0) > 0.05) {
    Doubt(kPlainDoubt, "other machines took more than 5% of the cores' time", verdict);
  }
}

Verdict VerdictOn(const model::Run& run, const Attribution& attribution) {
  Verdict verdict;
  const size_t steps = attribution.window.steps + attribution.window.warmup_steps;
  const double lost = Lost(run, attribution);
  if (steps < kLeastSteps || attribution.window.ns() <= 0) {
    verdict.doubts.push_back(steps == 1   ? std::string("one step is too few to judge by")
                             : steps == 0 ? std::string("there are no steps to judge by")
                                          : fmt::format("{} steps are too few to judge by", steps));
  } else if (!attribution.breakdown[attribution::At(Category::kCompute)] &&
             !attribution.breakdown[attribution::At(Category::kInputStall)]) {
    verdict.doubts.push_back("it is unknown when the trainer waited for a batch");
  } else if (lost > kBearableLoss) {
    verdict.doubts.push_back(fmt::format("{:.0f}% of the run is missing", 100 * lost));
  } else {
    if (!JudgeBeside(attribution, verdict)) JudgeByShares(run, attribution, verdict);
    if (verdict.bound != Bound::kInconclusive) {
      DoubtTheRecording(attribution, steps, lost, verdict);
    }
  }
  verdict.text = TextOf(run, verdict);
  return verdict;
}

}  // namespace stallscope::findings
