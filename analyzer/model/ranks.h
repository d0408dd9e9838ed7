// Several ranks' recordings of one run as one run. Any thread.
#ifndef STALLSCOPE_ANALYZER_MODEL_RANKS_H_
#define STALLSCOPE_ANALYZER_MODEL_RANKS_H_

#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/rank_clocks.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Times of all ranks become those of the lowest rank's clock: two hosts' CLOCK_MONOTONIC have
// nothing in common, so CLOCK_REALTIME at the start ties them together, and where ranks reduced
// together the ends of what they did (rank_clocks.h; not without `is_communication`). Stages of the
// same name and kind become one, whose workers add up. Queues, tracks and counters stay apart and
// are named "rank 1: decode"; queues and tracks keep the rank as a number, too. Numbers of elements
// and batches get the rank into bits 48 to 62. Runs that do not say which rank they are, or say the
// same, are numbered in the order given. One run is given back as it is; none is an error.
Result<Run> MergeRanks(std::vector<Run> runs, IsCommunication is_communication = nullptr);

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_RANKS_H_
