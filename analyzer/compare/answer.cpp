#include "analyzer/compare/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/compare/mann_whitney.h"
#include "analyzer/words/words.h"

namespace stallscope::compare {
namespace {

double Least() { return std::log(1 - kSmallestEffect); }
double Most() { return std::log(1 + kSmallestEffect); }

bool Inside(const LogChange& rate) { return rate.low >= Least() && rate.high <= Most(); }

// The runs whose steps can be resampled.
std::vector<RatedRun> WithSteps(const std::vector<RatedRun>& runs) {
  std::vector<RatedRun> usable;
  for (const RatedRun& run : runs) {
    const bool enough = run.steps.ms.size() >= kFewestSteps;
    if (enough && ValueOf(run.steps, Statistic::kMean) > 0) usable.push_back(run);
  }
  return usable;
}

std::vector<StepSeries> StepsOf(const std::vector<RatedRun>& runs) {
  std::vector<StepSeries> steps;
  for (const RatedRun& run : runs) steps.push_back(run.steps);
  return steps;
}

void AnswerByRuns(const RatedSides& sides, Evidence& evidence) {
  const std::vector<double> base = LogRates(sides.base);
  const std::vector<double> now = LogRates(sides.now);
  evidence.basis = Basis::kRuns;
  evidence.rate = CompareRuns(base, now);
  evidence.p_value = MannWhitney(base, now).p;
  evidence.answer = AnswerFromRuns(*evidence.rate, *evidence.p_value);
  evidence.base_runs = base.size();
  evidence.now_runs = now.size();
}

void AnswerBySteps(const RatedSides& sides, Evidence& evidence) {
  const std::vector<RatedRun> base = WithSteps(sides.base);
  const std::vector<RatedRun> now = WithSteps(sides.now);
  evidence.base_runs = base.size();
  evidence.now_runs = now.size();
  if (base.empty() || now.empty()) return;
  evidence.basis = Basis::kSteps;
  evidence.base_steps = StepsOf(base);
  evidence.now_steps = StepsOf(now);
  evidence.reach = StepReach(evidence.base_steps, evidence.now_steps,
                             SpreadOf(evidence.base_steps, evidence.now_steps));
  const Reach& reach = evidence.reach[static_cast<size_t>(Statistic::kRate)];
  const double at = Mean(LogRates(now)) - Mean(LogRates(base));
  evidence.rate = LogChange{at, at + reach.below, at + reach.above};
  evidence.answer = AnswerFromSteps(*evidence.rate);
}

// --- The answer in words ---

// How much faster, in percent; slower is negative.
double Percent(double log_ratio) { return 100 * (std::exp(log_ratio) - 1); }

std::string Signed(double percent) {
  return fmt::format("{:.1f}% {}", std::abs(percent), percent < 0 ? "slower" : "faster");
}

// "6.1 to 9.8%" if both ends have the same sign, else each end with its word.
std::string Range(const LogChange& rate) {
  const double low = Percent(rate.low);
  const double high = Percent(rate.high);
  if (low < 0 && high > 0) return Signed(low) + " to " + Signed(high);
  const double small = low < 0 ? -high : low;
  const double large = low < 0 ? -low : high;
  return fmt::format("{:.1f} to {:.1f}%", small, large);
}

std::string CountOf(const Evidence& evidence) {
  if (evidence.base_runs != evidence.now_runs) {
    return fmt::format("{} and {} runs", evidence.base_runs, evidence.now_runs);
  }
  return words::Counted(evidence.base_runs, "run") + " per side";
}

std::string How(const Evidence& evidence) {
  if (evidence.basis == Basis::kRuns) {
    const double p = evidence.p_value.value_or(1);
    return "from " + CountOf(evidence) +
           (p < 0.001 ? ", Mann-Whitney p < 0.001" : fmt::format(", Mann-Whitney p = {:.3f}", p));
  }
  const bool several = evidence.base_runs > 1 || evidence.now_runs > 1;
  return "from the steps of " + CountOf(evidence) +
         (several ? ", widened by the variation between runs on a side"
                  : ", widened by the variation within a run");
}

std::string Advice(const Evidence& evidence) {
  return evidence.basis == Basis::kRuns ? "; more runs would settle it"
                                        : "; five runs per side would settle more";
}

}  // namespace

// The estimate must reach the smallest effect, and the interval must exclude no change. Requiring
// the whole interval to reach it was rejected: with five runs per side that vary by 2%, a change of
// 5% would be found in only half of the sets.
Answer AnswerFromRuns(const LogChange& rate, double p_value) {
  if (Inside(rate)) return Answer::kNoRealChange;
  if (p_value > kRankLevel) return Answer::kInconclusive;
  if (rate.low > 0 && rate.at >= Most()) return Answer::kFaster;
  if (rate.high < 0 && rate.at <= Least()) return Answer::kSlower;
  return Answer::kInconclusive;
}

// Steps do not show how runs differ, so the whole interval must be beyond the smallest effect.
Answer AnswerFromSteps(const LogChange& rate) {
  if (Inside(rate)) return Answer::kNoRealChange;
  if (rate.low >= Most()) return Answer::kFaster;
  if (rate.high <= Least()) return Answer::kSlower;
  return Answer::kInconclusive;
}

Evidence FindAnswer(const RatedSides& sides, bool same_runs) {
  Evidence evidence;
  if (same_runs) {
    evidence.answer = Answer::kNoRealChange;
    evidence.basis = Basis::kSameRuns;
    evidence.base_runs = sides.base.size();
    evidence.now_runs = sides.now.size();
    evidence.rate = LogChange{};
  } else if (std::min(sides.base.size(), sides.now.size()) >= kRunsForTest) {
    AnswerByRuns(sides, evidence);
  } else {
    AnswerBySteps(sides, evidence);
  }
  return evidence;
}

std::string_view WordFor(Answer answer) {
  switch (answer) {
    case Answer::kFaster:
      return "faster";
    case Answer::kSlower:
      return "slower";
    case Answer::kNoRealChange:
      return "no real change";
    case Answer::kInconclusive:
      break;
  }
  return "inconclusive";
}

std::string_view WordFor(Basis basis) {
  switch (basis) {
    case Basis::kSameRuns:
      return "same runs";
    case Basis::kRuns:
      return "mann-whitney";
    case Basis::kSteps:
      return "block bootstrap";
    case Basis::kNothing:
      break;
  }
  return "none";
}

std::string TextOf(const Evidence& evidence) {
  if (evidence.basis == Basis::kSameRuns) {
    return "no real change: both sides are the same recording" +
           std::string(evidence.base_runs > 1 ? "s" : "");
  }
  if (!evidence.rate) {
    return fmt::format("inconclusive: {} a run with {} counted steps or more",
                       evidence.base_runs == 0 && evidence.now_runs == 0 ? "neither side has"
                       : evidence.base_runs == 0                         ? "the base side lacks"
                                                                         : "the new side lacks",
                       kFewestSteps);
  }
  const std::string how = How(evidence);
  const std::string range = Range(*evidence.rate);
  const std::string change = Signed(Percent(evidence.rate->at));
  switch (evidence.answer) {
    case Answer::kFaster:
    case Answer::kSlower:
      return change + " (" + range + "), " + how;
    case Answer::kNoRealChange:
      return "no real change: " + change + " (" + range + "), " + how;
    case Answer::kInconclusive:
      break;
  }
  return "inconclusive: " + change + " (" + range + "), " + how + Advice(evidence);
}

}  // namespace stallscope::compare
