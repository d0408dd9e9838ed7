// A sweep as the reports show it. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_
#define STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_

#include "analyzer/report/sweep_table.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The base first where it is none of the points.
report::SweepTable TableOf(const Sweep& sweep);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_SWEEP_TABLE_H_
