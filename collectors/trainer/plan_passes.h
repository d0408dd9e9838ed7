// What makes a plan shorter, FuseDense apart without changing a bit of its results.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_
#define STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_

#include <cstddef>

#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

// Removes ops that compute what an earlier one has computed from the same values; says how many.
// The model asks for what it needs where it needs it (the backward pass for activations, both
// passes for narrow weights), and leaves this to find out.
size_t RemoveDuplicates(Plan& plan);

// Makes a product, the bias that is added to it and the gelu of the sum one op, kDense, where
// nobody else reads the product. For devices to which the last two then cost nothing; one that does
// not round between them gives other bits in narrow types. Says how many ops it saved.
size_t FuseDense(Plan& plan);

// Makes neighbouring elementwise ops, of which each takes the result of one before it, one pass
// over the values. Results that nothing else reads are never stored. Says how many ops it saved.
size_t FuseElementwise(Plan& plan);

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_PLAN_PASSES_H_
