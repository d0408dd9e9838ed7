// The cold start of a run: a stage takes longer per item at the beginning than it ever does later,
// because the page cache is cold, it is the first epoch, workers have just started, or something
// warms up. METHOD.md has the rules. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

// Searches the steps of `counted` (the run's, without its warm-up) except those during which a
// framework's profiler ran. Nothing if no stage became faster for good, if the trace does not show
// why, and for several ranks or an imported run.
std::optional<ColdStart> FindColdStart(const model::Run& run,
                                       const std::vector<model::StepInterval>& intervals,
                                       const Window& counted, Cancel cancel = {});

// When the first pass over the data ended: an item of the second pass was begun, or requested, for
// the first time. Nothing if the run has no second pass.
std::optional<int64_t> EndOfFirstPass(const model::Run& run);

}  // namespace stallscope::attribution
