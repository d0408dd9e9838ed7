// Which part of a run is analysed. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_WINDOW_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_WINDOW_H_

#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

constexpr double kUnlikeTheMedian = 1.5;
constexpr double kMostWarmUp = 0.25;

// How many of the first steps are warm-up, by their durations: those at the beginning that lie
// outside 1.5 times the median of all, either way. Where that would be more than a quarter of the
// run it is a phase of the run and no warm-up, and at most the first step is left out. At least 3
// steps stay.
size_t WarmupSteps(const std::vector<int64_t>& durations_ns);

// The window that leaves out so many steps. Without steps it is the whole run.
Window WindowAfter(size_t warmup_steps, const model::Run& run,
                   const std::vector<model::StepInterval>& intervals);
// The steps that begin in the range; where none does, the range alone.
Window WindowWithin(int64_t start_ns, int64_t end_ns, const model::Run& run,
                    const std::vector<model::StepInterval>& intervals);
Window ChooseWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals);

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_WINDOW_H_
