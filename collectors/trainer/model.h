// The models, as plans of a step for one shape of batch.
//
//   mixer  patches -> linear -> depth x (MLP over the patches, MLP over the channels, each with a
//          residual) -> mean -> linear. Tokens are mixed through width / 2 and channels through
//          4 x width hidden values, as in the paper (Tolstikhin 2021), but without its layer norms,
//          which a few blocks do not need: the residual branches start small instead.
//   mlp    a sample's values -> depth x (linear, gelu) -> linear
//
// Both end in softmax and cross-entropy, the mean over the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/spec/spec.h"
#include "collectors/trainer/batch_form.h"
#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

// The type of activations and gradients; weights are always float32.
device::Type ComputeType(Precision precision);
// Of what the update reads: a batch's gradients, or the sum of several's.
device::Type GradientType(const TrainerSpec& trainer);

// `form`: this replica's samples, checked by CheckForm; with 0 samples the gradients are 0.
// `whole_batch`: the samples of all replicas. The loss is their mean, and with several batches per
// update that batch's share of the mean over all. `pixels`: values are 0 to 255 and become -2 to 2;
// others are used unchanged.
Plan BuildPlan(const TrainerSpec& trainer, const BatchForm& form, int64_t whole_batch, bool pixels);

// The arena of the plan's weights before the first step; the same seed gives the same on every
// replica and machine.
std::vector<float> InitialWeights(const Plan& plan, uint64_t seed);

}  // namespace stallscope::trainer
