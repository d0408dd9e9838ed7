// From a run to what it costs. Any thread; reads only.
#pragma once

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

// An error (kInput) where nothing can be predicted from the run: no steps, no throughput, several
// recordings' ranks, or stages whose work was not recorded. A run without a spec (an imported
// trace) gets one with its stages, a job that of its settings. Of a job's several ranks, which wait
// for each other, the one that waits longest for its batches stands for all, with its share of the
// cores. The workload keeps no reference to the run.
Result<Workload> BuildWorkload(const model::Run& run, const attribution::Attribution& attribution);

}  // namespace stallscope::replay
