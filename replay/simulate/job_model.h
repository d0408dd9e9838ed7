// What a change of a job's settings makes of it: the job's part of Simulate. Private to the room;
// any thread.
#pragma once

#include <cstdint>

#include "replay/simulate/job_engine.h"
#include "replay/simulate/simulate.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

// What a recording without workers does not hold (starting them, handing batches over) is as little
// as it may be, or as much.
enum class Unknowns : uint8_t { kLeast, kMost };

// The workload must be a job's, and outlive the setup.
JobSetup SetupOf(const Workload& workload, double cores, Unknowns unknowns);
// Whether the two differ.
bool HasUnknowns(const Workload& workload);

// Steps of a repetition.
uint64_t JobSteps(const Workload& workload, const SimulateOptions& options);
// Resident memory of all processes at most; 0 if the run does not show it.
uint64_t JobMemory(const Workload& workload);

}  // namespace stallscope::replay
