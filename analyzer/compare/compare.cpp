#include "analyzer/compare/compare.h"

#include <algorithm>

#include "analyzer/compare/answer.h"
#include "analyzer/compare/rates.h"
#include "analyzer/compare/side_by_side.h"
#include "analyzer/compare/text.h"
#include "analyzer/compare/warnings.h"

namespace stallscope::compare {
namespace {

using Runs = std::vector<RunSummary>;

// Everything that was measured, to the nanosecond: two recordings never agree in it. Without steps
// only the file's name can tell.
bool SameRecording(const RunSummary& a, const RunSummary& b) {
  return (!a.step_ms.empty() || (!a.trace.empty() && a.trace == b.trace)) &&
         a.step_ms == b.step_ms && a.samples == b.samples && a.samples_per_s == b.samples_per_s &&
         a.ms_per_step == b.ms_per_step && a.stages == b.stages;
}

// A recording that is given twice must not count as two: its copies do not vary.
Runs WithoutRepeats(const Runs& runs, std::vector<std::string>& warnings) {
  Runs once;
  for (const RunSummary& run : runs) {
    const auto first = std::find_if(once.begin(), once.end(), [&](const RunSummary& other) {
      return run.trace == other.trace && SameRecording(run, other);
    });
    if (first == once.end()) {
      once.push_back(run);
    } else {
      warnings.push_back(run.trace + ": given more than once on a side, counted once");
    }
  }
  return once;
}

// Each run of either side stands on the other, too.
bool SameSides(const Runs& base, const Runs& now) {
  if (base.size() != now.size()) return false;
  std::vector<bool> taken(now.size(), false);
  for (const RunSummary& run : base) {
    size_t i = 0;
    while (i < now.size() && (taken[i] || !SameRecording(run, now[i]))) ++i;
    if (i == now.size()) return false;
    taken[i] = true;
  }
  return true;
}

void WarnOfShared(const Runs& base, const Runs& now, std::vector<std::string>& warnings) {
  for (const RunSummary& run : base) {
    const bool shared = std::any_of(
        now.begin(), now.end(), [&](const RunSummary& other) { return SameRecording(run, other); });
    if (shared) warnings.push_back(run.trace + ": the same recording stands on both sides");
  }
}

}  // namespace

Comparison Compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now) {
  Comparison comparison;
  std::vector<std::string>& warnings = comparison.warnings;
  const Runs base_once = WithoutRepeats(base, warnings);
  const Runs now_once = WithoutRepeats(now, warnings);
  const bool same = SameSides(base_once, now_once);
  const RatedSides rated = RateSides(base_once, now_once);
  const Evidence evidence = FindAnswer(rated, same);

  comparison.base_runs = base.size();
  comparison.new_runs = now.size();
  comparison.answer = evidence.answer;
  comparison.text = TextOf(evidence);
  comparison.method = WordFor(evidence.basis);
  comparison.p_value = evidence.p_value;
  PutSideBySide(base_once, now_once, rated, evidence, comparison);

  if (!same) WarnOfShared(base_once, now_once, warnings);
  if (rated.by_steps && evidence.rate && !same) {
    warnings.emplace_back("a side does not say how many samples a step has: steps are compared");
  }
  for (const std::string& trace : rated.left_out) {
    warnings.push_back(trace + ": has no throughput, and is left out");
  }
  const std::vector<std::string> circumstances = WarningsOf(base_once, now_once);
  warnings.insert(warnings.end(), circumstances.begin(), circumstances.end());
  comparison.same_data = SameData(base_once, now_once, warnings);
  comparison.spec_change = SpecChange(base_once, now_once, warnings);
  return comparison;
}

}  // namespace stallscope::compare
