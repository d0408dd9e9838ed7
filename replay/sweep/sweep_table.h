// A sweep as the reports show it. Any thread.
#pragma once

#include "analyzer/report/sweep_table.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The base first, unless it is one of the points.
report::SweepTable TableOf(const Sweep& sweep);

}  // namespace stallscope::replay
