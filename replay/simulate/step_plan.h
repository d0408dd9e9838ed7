// What the trainer does with a batch. Private to the room; any thread.
#ifndef STALLSCOPE_REPLAY_SIMULATE_STEP_PLAN_H_
#define STALLSCOPE_REPLAY_SIMULATE_STEP_PLAN_H_

#include "replay/simulate/network.h"

namespace stallscope::replay {

StepPlan StepPlanOf(const Workload& workload);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_STEP_PLAN_H_
