#include "collectors/trainer/plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace stallscope::trainer {
namespace {

using device::FusedStep;
using device::Kernel;

// Only ops that write nothing but activations may be merged: no other op writes those.
bool WritesActivationsOnly(const Plan& plan, const PlanOp& op) {
  const auto plain = [&](TensorId id) { return plan.at(id).role == Role::kActivation; };
  const auto state = [&](TensorId id) { return plan.at(id).role == Role::kState; };
  return !op.out.empty() && std::all_of(op.out.begin(), op.out.end(), plain) &&
         std::none_of(op.in.begin(), op.in.end(), state);
}

// A chain of elementwise ops that is becoming one.
class Chain {
 public:
  Chain(const Plan& plan, const std::vector<size_t>& readers) : plan_(plan), readers_(readers) {}

  bool Takes(const PlanOp& op) const {
    if (!IsElementwise(op.kernel) || !WritesActivationsOnly(plan_, op)) return false;
    if (ops_.empty()) return true;
    return plan_.at(op.out[0]).elements == plan_.at(ops_[0].out[0]).elements &&
           std::any_of(op.in.begin(), op.in.end(), [&](TensorId in) { return StepOf(in) >= 0; });
  }
  void Add(PlanOp op) { ops_.push_back(std::move(op)); }

  // Appends the op that does them all; returns how many that saves.
  size_t MoveTo(std::vector<PlanOp>& into) {
    const size_t saved = ops_.empty() ? 0 : ops_.size() - 1;
    if (ops_.size() == 1) into.push_back(std::move(ops_[0]));
    if (ops_.size() > 1) into.push_back(Fused());
    ops_.clear();
    return saved;
  }

 private:
  int StepOf(TensorId id) const {
    for (size_t k = 0; k < ops_.size(); ++k) {
      if (ops_[k].out[0] == id) return static_cast<int>(k);
    }
    return -1;
  }
  int SourceOf(TensorId id, PlanOp& fused) const {
    if (const int step = StepOf(id); step >= 0) return -1 - step;
    auto found = std::find(fused.in.begin(), fused.in.end(), id);
    if (found == fused.in.end()) found = fused.in.insert(fused.in.end(), id);
    return static_cast<int>(found - fused.in.begin());
  }
  PlanOp Fused() const {
    PlanOp fused;
    fused.kernel = Kernel::kFused;
    for (const PlanOp& op : ops_) {
      FusedStep step;
      step.kernel = op.kernel;
      step.type = plan_.at(op.out[0]).type;
      step.a = SourceOf(op.in[0], fused);
      if (op.in.size() > 1) step.b = SourceOf(op.in[1], fused);
      size_t inside = 0;
      for (const PlanOp& other : ops_) {
        inside += static_cast<size_t>(std::count(other.in.begin(), other.in.end(), op.out[0]));
      }
      if (readers_[static_cast<size_t>(op.out[0])] > inside || &op == &ops_.back()) {
        step.out = static_cast<int>(fused.out.size());
        fused.out.push_back(op.out[0]);
      }
      fused.fused.push_back(step);
    }
    return fused;
  }

  const Plan& plan_;
  const std::vector<size_t>& readers_;
  std::vector<PlanOp> ops_;
};

std::vector<size_t> CountReaders(const Plan& plan) {
  std::vector<size_t> readers(plan.tensors.size());
  for (const PlanOp& op : plan.compute) {
    for (const TensorId in : op.in) ++readers[static_cast<size_t>(in)];
  }
  return readers;
}

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
      case Role::kSum:
        return addresses_.sum;
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

uint64_t FlopsOf(const Plan& plan, const std::vector<PlanOp>& ops) {
  uint64_t sum = 0;
  for (const PlanOp& op : ops) sum += Flops(plan, op);
  return sum;
}

}  // namespace

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
  return FlopsOf(plan, plan.compute) +
         FlopsOf(plan, plan.update) / static_cast<uint64_t>(plan.batches_per_update);
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

size_t RemoveDuplicates(Plan& plan) {
  std::vector<TensorId> instead(plan.tensors.size());
  for (size_t i = 0; i < instead.size(); ++i) instead[i] = static_cast<TensorId>(i);
  std::map<std::tuple<Kernel, std::vector<TensorId>, std::vector<device::Type>,
                      std::vector<int64_t>, std::vector<float>>,
           std::vector<TensorId>>
      known;
  std::vector<PlanOp> kept;
  for (PlanOp& op : plan.compute) {
    for (TensorId& in : op.in) in = instead[static_cast<size_t>(in)];
    if (WritesActivationsOnly(plan, op)) {
      std::vector<device::Type> types;
      for (const TensorId out : op.out) types.push_back(plan.at(out).type);
      const auto [same, added] =
          known.try_emplace({op.kernel, op.in, types, op.ints, op.floats}, op.out);
      if (!added) {
        for (size_t i = 0; i < op.out.size(); ++i) {
          instead[static_cast<size_t>(op.out[i])] = same->second[i];
        }
        continue;
      }
    }
    kept.push_back(std::move(op));
  }
  const size_t removed = plan.compute.size() - kept.size();
  plan.compute = std::move(kept);
  return removed;
}

size_t FuseDense(Plan& plan) {
  const std::vector<size_t> readers = CountReaders(plan);
  const size_t before = plan.compute.size();
  std::vector<PlanOp> kept;
  std::map<TensorId, size_t> products;  // index among the kept ops of the one that makes each
  std::map<TensorId, size_t> sums;
  std::vector<bool> taken;
  for (PlanOp& op : plan.compute) {
    if (op.kernel == Kernel::kAddBias) {
      const auto product = products.find(op.in[0]);
      if (product != products.end() && readers[static_cast<size_t>(op.in[0])] == 1) {
        PlanOp& gemm = kept[product->second];
        op.kernel = Kernel::kDense;
        op.in = {gemm.in[0], gemm.in[1], op.in[1]};
        op.ints = gemm.ints;
        op.ints.resize(6);
        op.ints.push_back(0);
        taken[product->second] = true;
        sums[op.out[0]] = kept.size();
      }
    } else if (op.kernel == Kernel::kGelu) {
      const auto sum = sums.find(op.in[0]);
      if (sum != sums.end() && WritesActivationsOnly(plan, op)) {
        PlanOp& dense = kept[sum->second];
        dense.out.insert(dense.out.begin(), op.out[0]);
        dense.ints[6] = 1;
        sums.erase(sum);
        continue;
      }
    } else if (op.kernel == Kernel::kGemm && WritesActivationsOnly(plan, op) &&
               op.floats == std::vector<float>{1, 0}) {
      products[op.out[0]] = kept.size();
    }
    kept.push_back(std::move(op));
    taken.push_back(false);
  }
  plan.compute.clear();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!taken[i]) plan.compute.push_back(std::move(kept[i]));
  }
  return before - plan.compute.size();
}

size_t FuseElementwise(Plan& plan) {
  const std::vector<size_t> readers = CountReaders(plan);
  std::vector<PlanOp> kept;
  Chain chain(plan, readers);
  size_t saved = 0;
  for (PlanOp& op : plan.compute) {
    if (!chain.Takes(op)) saved += chain.MoveTo(kept);
    if (chain.Takes(op)) {
      chain.Add(std::move(op));
    } else {
      kept.push_back(std::move(op));
    }
  }
  saved += chain.MoveTo(kept);
  plan.compute = std::move(kept);
  return saved;
}

Program Bind(const Plan& plan, const Addresses& addresses) {
  Program program;
  program.flops = Flops(plan);
  const bool update_in_step = plan.batches_per_update == 1;
  const uint64_t of_step = update_in_step ? program.flops : FlopsOf(plan, plan.compute);
  Binder binder(plan, addresses);
  uint64_t done = 0;
  const auto bind = [&](const std::vector<PlanOp>& ops, bool in_step,
                        std::vector<device::Launch>& into) {
    for (const PlanOp& op : ops) {
      into.push_back(binder.Launch(op));
      const uint64_t from = done;
      done += Flops(plan, op);
      // A replica without samples has no step to take time for.
      if (in_step && plan.samples > 0) into.back().part = {plan.samples, from, done, of_step};
    }
  };
  bind(plan.compute, true, program.compute);
  bind(plan.update, update_in_step, program.update);
  return program;
}

}  // namespace stallscope::trainer
