#include "analyzer/compare/text.h"

#include <fmt/format.h>

#include <cmath>

namespace stallscope::compare {
namespace {

// How much faster, in per cent; slower is negative.
double Percent(double log_ratio) { return 100 * (std::exp(log_ratio) - 1); }

std::string Signed(double percent) {
  return fmt::format("{:.1f}% {}", std::abs(percent), percent < 0 ? "slower" : "faster");
}

// "6.1 to 9.8 %" where both ends are on the side of `percent`, else each end with its word.
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
  return fmt::format("{} run{} a side", evidence.base_runs, evidence.base_runs == 1 ? "" : "s");
}

std::string How(const Evidence& evidence) {
  if (evidence.basis == Basis::kRuns) {
    const double p = evidence.p_value.value_or(1);
    return "by " + CountOf(evidence) +
           (p < 0.001 ? ", Mann-Whitney p < 0.001" : fmt::format(", Mann-Whitney p = {:.3f}", p));
  }
  const bool several = evidence.base_runs > 1 || evidence.now_runs > 1;
  return "by the steps of " + CountOf(evidence) +
         (several ? ", widened by how runs of a side differ"
                  : ", widened by how the parts of a run differ");
}

std::string Advice(const Evidence& evidence) {
  return evidence.basis == Basis::kRuns ? "; more runs would tell"
                                        : "; five runs a side would tell more";
}

}  // namespace

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
