// How many workers a stage needs, and what more of them do. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_WORKERS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_WORKERS_H_

#include "analyzer/findings/capacity.h"

namespace stallscope::findings {

// So many that the stage keeps up with the trainer, at least one more than it has, at most `most`.
// Work that burns a core is not worth more workers than there are cores. One more than now where
// the run does not tell.
int64_t WorkersFor(const Load* load, StageId stage, int64_t now, int64_t most);

// The stage with so many workers, in threads of its own.
Effect WithWorkers(StageId stage, int64_t workers);
// The stage's time for an item times the assumed size, its CPU too.
Effect WithTimeTimes(StageId stage, std::array<double, 3> sizes);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_WORKERS_H_
