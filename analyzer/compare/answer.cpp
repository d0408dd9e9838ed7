#include "analyzer/compare/answer.h"

#include <algorithm>
#include <cmath>

#include "analyzer/compare/mann_whitney.h"

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

}  // namespace

// The estimate must reach the smallest effect, and the interval must exclude none at all. That the
// whole interval reaches it was rejected: five runs a side that vary by 2% would then show a change
// of 5% in every other set.
Answer AnswerFromRuns(const LogChange& rate, double p_value) {
  if (Inside(rate)) return Answer::kNoRealChange;
  if (p_value > kRankLevel) return Answer::kInconclusive;
  if (rate.low > 0 && rate.at >= Most()) return Answer::kFaster;
  if (rate.high < 0 && rate.at <= Least()) return Answer::kSlower;
  return Answer::kInconclusive;
}

// Steps do not show how runs differ; here the whole interval must lie beyond the smallest effect.
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

}  // namespace stallscope::compare
