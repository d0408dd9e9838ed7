#include "collectors/trainer/program.h"

namespace stallscope::trainer {
namespace {

class Binder {
 public:
  Binder(const Plan& plan, const Addresses& addresses)
      : plan_(plan), addresses_(addresses), offsets_(plan.tensors.size(), kNowhere) {}

  device::Operand Operand(TensorId id) {
    const PlanTensor& tensor = plan_.at(id);
    const auto size = device::SizeOf(tensor.type);
    device::Operand operand;
    operand.type = tensor.type;
    operand.elements = tensor.elements;
    operand.address = Arena(tensor.role) + static_cast<uint64_t>(tensor.offset) * size;
    if (tensor.role == Role::kActivation) {
      uint64_t& offset = offsets_[static_cast<size_t>(id)];
      if (offset == kNowhere) {
        offset = next_;
        next_ += (static_cast<uint64_t>(tensor.elements) * size + 63) / 64 * 64;
      }
      operand.address = addresses_.activations + offset;
    }
    return operand;
  }

  device::Launch Launch(const PlanOp& op) {
    device::Launch launch;
    launch.kernel = op.kernel;
    for (const TensorId in : op.in) launch.in.push_back(Operand(in));
    for (const TensorId out : op.out) launch.out.push_back(Operand(out));
    launch.ints = op.ints;
    launch.floats = op.floats;
    launch.fused = op.fused;
    return launch;
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  device::Address Arena(Role role) const {
    switch (role) {
      case Role::kActivation:
        return addresses_.activations;
      case Role::kImages:
        return addresses_.images;
      case Role::kLabels:
        return addresses_.labels;
      case Role::kWeights:
        return addresses_.weights;
      case Role::kGradients:
        return addresses_.gradients;
      case Role::kReduced:
        return addresses_.reduced;
      case Role::kMoment1:
        return addresses_.moment1;
      case Role::kMoment2:
        return addresses_.moment2;
      case Role::kState:
        break;
    }
    return addresses_.state;
  }

  const Plan& plan_;
  const Addresses& addresses_;
  std::vector<uint64_t> offsets_;
  uint64_t next_ = 0;
};

}  // namespace

Program Bind(const Plan& plan, const Addresses& addresses) {
  Program program;
  program.flops = Flops(plan);
  Binder binder(plan, addresses);
  uint64_t done = 0;
  const auto bind = [&](const std::vector<PlanOp>& ops, std::vector<device::Launch>& into) {
    for (const PlanOp& op : ops) {
      into.push_back(binder.Launch(op));
      const uint64_t from = done;
      done += Flops(plan, op);
      // A replica without samples has no step to take time for.
      if (plan.samples > 0) into.back().part = {plan.samples, from, done, program.flops};
    }
  };
  bind(plan.compute, program.compute);
  bind(plan.update, program.update);
  return program;
}

}  // namespace stallscope::trainer
