// Row 24: the first step takes as long as many others.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::warm_up {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const double median = MedianStepNs(c);
  const std::vector<model::StepInterval> steps = model::StepIntervals(c.run);
  // A warm-up is outside the window, where it belongs; what counts is its length.
  if (median <= 0 || steps.size() < 2) return;
  const auto first = static_cast<double>(steps.front().end_ns - steps.front().start_ns);
  if (first < kWarmUpSteps * median) return;
  Draft draft = About(c, StageId::None(), 0,
                      fmt::format("the first step took {}, as long as {:.0f} others: compilation, "
                                  "empty buffers and cold caches",
                                  Duration(first), first / median));
  draft.finding.severity = Severity::kInfo;
  Show(draft, Evidence::Kind::kStep, fmt::format("step {}", steps.front().index));
  draft.finding.evidence.back().step = steps.front().index;
  draft.finding.evidence.back().start_ns = steps.front().start_ns;
  draft.finding.evidence.back().end_ns = steps.front().end_ns;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "warm-up", .row = 24, .check = Check};

}  // namespace stallscope::findings::warm_up
