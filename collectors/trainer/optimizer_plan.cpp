#include "collectors/trainer/model.h"

namespace stallscope::trainer {

using device::Kernel;
using device::Type;

void AddUpdate(const TrainerSpec& trainer, Plan& plan) {
  const int64_t all = plan.parameter_elements;
  const Type type = ComputeType(trainer.precision);
  const TensorId gradients = plan.Add({"all gradients", Role::kReduced, type, all, 0});
  const TensorId state = plan.Add({"state", Role::kState, Type::kFloat32, device::kStateValues, 0});
  const TensorId weights = plan.Add({"all weights", Role::kWeights, Type::kFloat32, all, 0});
  const TensorId moment1 = plan.Add({"moment 1", Role::kMoment1, Type::kFloat32, all, 0});
  const auto rate = static_cast<float>(trainer.optimizer.learning_rate);
  const bool mixed = type != Type::kFloat32;

  // Of float32 nothing overflows that is not lost anyway, and there is no scale.
  if (mixed) plan.update.push_back({Kernel::kCheckFinite, {gradients, state}, {}, {}, {}, {}});
  if (trainer.optimizer.kind == OptimizerKind::kSgd) {
    const auto momentum = static_cast<float>(trainer.optimizer.momentum);
    plan.update.push_back(
        {Kernel::kSgd, {gradients, state}, {weights, moment1}, {}, {rate, momentum}, {}});
  } else {
    const TensorId moment2 = plan.Add({"moment 2", Role::kMoment2, Type::kFloat32, all, 0});
    plan.update.push_back({Kernel::kAdam,
                           {gradients, state},
                           {weights, moment1, moment2},
                           {},
                           {rate, 0.9f, 0.999f, 1e-8f},
                           {}});
  }
  if (mixed) {
    plan.update.push_back(
        {Kernel::kUpdateScale, {state}, {}, {trainer.loss_scale.growth_interval}, {}, {}});
  }
}

}  // namespace stallscope::trainer
