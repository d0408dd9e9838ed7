// The cold start of a run: a stage that takes longer for its items at the beginning than ever
// after, because the page cache is cold, it is the first epoch, workers have just started, or
// something warms up. METHOD.md has the rules. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

// The steps of `counted`, which are the run's without its warm-up, are searched, but for those
// beside which a framework's profiler ran. Nothing where no stage became faster for good, where the
// trace does not show why, and of several ranks or an imported run.
std::optional<ColdStart> FindColdStart(const model::Run& run,
                                       const std::vector<model::StepInterval>& intervals,
                                       const Window& counted, Cancel cancel = {});

// When the first pass over the data was over: the first of its items that belongs to the second
// one was begun, or asked for. Nothing where the run has no second one.
std::optional<int64_t> EndOfFirstPass(const model::Run& run);

}  // namespace stallscope::attribution
