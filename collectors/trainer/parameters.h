// The weights before the first step.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_PARAMETERS_H_
#define STALLSCOPE_COLLECTORS_TRAINER_PARAMETERS_H_

#include <cstdint>
#include <vector>

#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

// The arena of the plan's weights; the same seed gives the same on every replica and machine.
std::vector<float> InitialWeights(const Plan& plan, uint64_t seed);

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_PARAMETERS_H_
