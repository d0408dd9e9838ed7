// No answer, and what to record to get one.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::inconclusive {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kInconclusive) return;
  const auto& quality = c.run.quality;
  std::string what = "record at least 20 steps after the warm-up";
  if (quality.dropped > 0) {
    what = fmt::format("{} events were dropped: record with fewer counters, or to a faster disk",
                       quality.dropped);
  } else if (quality.damaged_bytes > 0) {
    what = fmt::format("{} of the trace is damaged: record it again",
                       Bytes(static_cast<double>(quality.damaged_bytes)));
  } else if (c.run.rows.steps.empty()) {
    what = "the trace has no steps: record it with the training step marked";
  }
  Draft draft =
      About(c, StageId::None(), 0, "this trace does not show what bounds the run: " + what);
  draft.finding.severity = Severity::kInfo;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "inconclusive", .row = 0, .check = Check};

}  // namespace stallscope::findings::inconclusive
