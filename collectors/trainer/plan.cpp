#include "collectors/trainer/plan.h"

#include <vector>

namespace stallscope::trainer {

using device::Kernel;

bool IsElementwise(Kernel kernel) {
  switch (kernel) {
    case Kernel::kAddBias:
    case Kernel::kGelu:
    case Kernel::kGeluBackward:
    case Kernel::kAdd:
    case Kernel::kCast:
      return true;
    default:
      return false;
  }
}

uint64_t Flops(const Plan& plan, const PlanOp& op) {
  if (op.kernel == Kernel::kGemm) {
    return 2 * static_cast<uint64_t>(op.ints[2] * op.ints[3] * op.ints[4]);
  }
  uint64_t values = 0;
  for (const TensorId out : op.out) values += static_cast<uint64_t>(plan.at(out).elements);
  if (op.kernel == Kernel::kDense) {
    return 2 * static_cast<uint64_t>(op.ints[2] * op.ints[3] * op.ints[4]) + values;
  }
  if (op.kernel == Kernel::kFused) return values / op.out.size() * op.fused.size();
  return values;
}

uint64_t Flops(const Plan& plan) {
  uint64_t sum = 0;
  for (const auto* list : {&plan.compute, &plan.update}) {
    for (const PlanOp& op : *list) sum += Flops(plan, op);
  }
  return sum;
}

uint64_t ActivationBytes(const Plan& plan) {
  std::vector<bool> used(plan.tensors.size());
  uint64_t bytes = 0;
  const auto count = [&](TensorId id) {
    const PlanTensor& tensor = plan.at(id);
    if (tensor.role != Role::kActivation || used[static_cast<size_t>(id)]) return;
    used[static_cast<size_t>(id)] = true;
    const uint64_t own = static_cast<uint64_t>(tensor.elements) * device::SizeOf(tensor.type);
    bytes += (own + 63) / 64 * 64;
  };
  for (const PlanOp& op : plan.compute) {
    for (const TensorId in : op.in) count(in);
    for (const TensorId out : op.out) count(out);
  }
  return bytes;
}

}  // namespace stallscope::trainer
