// What a run says a step costs besides its input. Private to the room; any thread.
#pragma once

#include <vector>
#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

TrainerCosts CostsOfSteps(const model::Run& run, const attribution::Attribution& attribution,
                          const Spec& spec);

// A step's costs of a run that another profiler recorded. Its kernels do not say which batch they
// worked on, and it may have no device at all: the exact partition of its steps says what each took
// of the trainer's time.
//
// With `batch` samples a step. What the steps' categories have besides waiting for input adds up to
// the step: computing and reductions are the device's, launches the trainer's thread's, a copy is
// the exposed part of it.
TrainerCosts CostsOfForeignSteps(const model::Run& run, const attribution::Attribution& attribution,
                                 double batch);

// Whether the trainer asks for a batch while the device is still at work on the one before: its
// waits are then longer than what they cost it.
bool AsksAhead(const model::Run& run, const attribution::Attribution& attribution);

// By counted step: how long it waited for its batch.
std::vector<Cost> WaitsOfSteps(const attribution::Attribution& attribution);

}  // namespace stallscope::replay
