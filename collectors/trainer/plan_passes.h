// What makes a plan shorter without changing a bit of its results.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_
#define STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_

#include <cstddef>

#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

// Removes ops that compute what an earlier one has computed from the same values; says how many.
// The model asks for what it needs where it needs it (the backward pass for activations, both
// passes for narrow weights), and leaves this to find out.
size_t RemoveDuplicates(Plan& plan);

// Makes neighbouring elementwise ops, of which each takes the result of one before it, one pass
// over the values. Results that nothing else reads are never stored. Says how many ops it saved.
size_t FuseElementwise(Plan& plan);

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_
