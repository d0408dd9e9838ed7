// A sweep as the reports show it. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_
#define STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_

#include "analyzer/report/sweep_table.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The base first, unless it is one of the points.
report::SweepTable TableOf(const Sweep& sweep);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_
