// How the workers of a job's loader start and end, from what the trace has of it. Private to the
// room; any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/attribution/intervals.h"
#include "replay/workload/job_costs.h"

namespace stallscope::replay {

// One worker, from its start to when it asks for its first batch.
struct Boot {
  double cpu_ns = 0;
  double blocked_ns = 0;
};

// `startups` are the waits of the main process for workers that start or end, in their order, and
// `samplings` its choosing of indices. Nothing if no start was recorded.
std::optional<WorkerStart> StartOf(const LoaderSpec& loader,
                                   const std::vector<attribution::Interval>& startups,
                                   const std::vector<attribution::Interval>& samplings,
                                   const std::vector<Boot>& boots);

// The first batches of workers cost more than later ones, which belongs to the start: moves the
// difference there, so that all cost the same. Does nothing if there are too few.
void MoveFirstsToStart(const std::vector<BatchCost*>& firsts,
                       const std::vector<const BatchCost*>& later, WorkerStart& start);
// The same for the main process's first steps after it started workers.
void MoveFirstsToStart(const std::vector<Cost*>& firsts, const std::vector<const Cost*>& later,
                       WorkerStart& start);

}  // namespace stallscope::replay
