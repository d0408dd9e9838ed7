// What a run says a step costs besides its input. Private to the room; any thread.
#ifndef STALLSCOPE_REPLAY_WORKLOAD_TRAINER_COSTS_H_
#define STALLSCOPE_REPLAY_WORKLOAD_TRAINER_COSTS_H_

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

TrainerCosts CostsOfSteps(const model::Run& run, const attribution::Attribution& attribution,
                          const Spec& spec);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_WORKLOAD_TRAINER_COSTS_H_
