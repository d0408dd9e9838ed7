// Every figure of the two sides next to each other.
#pragma once

#include <vector>

#include "analyzer/compare/answer.h"
#include "analyzer/compare/compare.h"

namespace stallscope::compare {

// From one value per run; bounded if each side has two runs and no value is 0. Neither side may be
// empty.
Change ChangeOf(const std::vector<double>& base, const std::vector<double>& now);

// Fills throughput, step times, breakdown and stages.
void PutSideBySide(const std::vector<RunSummary>& base, const std::vector<RunSummary>& now,
                   const RatedSides& rated, const Evidence& evidence, Comparison& comparison);

}  // namespace stallscope::compare
