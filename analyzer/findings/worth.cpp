#include "analyzer/findings/worth.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

bool WorthShowing(Recommendation& recommendation, double share, uint64_t steps) {
  if (recommendation.aim != Aim::kSpeed || !recommendation.gain.has_value()) return true;
  const Gain& gain = *recommendation.gain;
  if (gain.predicted <= 1) return false;
  if (gain.low > 1) return true;
  if (share < kHighShare || gain.predicted < kPromisingGain || steps >= kTellingSteps) return false;
  // Few steps that differ much make an interval that reaches past standing still.
  recommendation.unpriced = fmt::format(
      "{} steps tell too little, anything from {:.2f} to {:.2f} times as fast; record at least {}",
      steps, std::max(gain.low, 0.0), gain.high, kTellingSteps);
  recommendation.gain.reset();
  return true;
}

}  // namespace stallscope::findings
