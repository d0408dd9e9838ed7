// What a training step does, as a list of kernels over named tensors, before any of it has an
// address. Passes shorten it, all but FuseDense without changing a bit of its results; Bind puts it
// on a device, as a Program.
//
// Every activation is written by one op only. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectors/device/device.h"
#include "collectors/device/launch.h"

namespace stallscope::trainer {

using TensorId = int32_t;

// Where a tensor is. Weights, gradients and the rest of a parameter's values have the same offset
// in arenas of their own, so that the optimizer is one kernel over all of them.
enum class Role : uint8_t {
  kActivation,
  kImages,  // the batch, as copied or as the device's maps left it
  kLabels,
  kWeights,
  kGradients,
  kSum,      // of the gradients of an update's batches, where those are several
  kReduced,  // what the update reads: the sum over all replicas; with one replica, its own values
  kMoment1,
  kMoment2,
  kState,
};

struct PlanTensor {
  std::string name;
  Role role = Role::kActivation;
  device::Type type = device::Type::kFloat32;
  int64_t elements = 0;
  int64_t offset = 0;  // in its arena, in elements
};

struct PlanOp {
  device::Kernel kernel = device::Kernel::kAdd;
  std::vector<TensorId> in;
  std::vector<TensorId> out;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<device::FusedStep> fused;
};

// A parameter of the model and what it is before the first step.
struct Parameter {
  std::string name;
  int64_t offset = 0;
  int64_t elements = 0;
  float deviation = 0;  // of the normal distribution that it is drawn from; 0: all zeros
};

struct Plan {
  std::vector<PlanTensor> tensors;
  std::vector<PlanOp> compute;  // from the batch to the gradients
  std::vector<PlanOp> update;   // from the gradients to the new weights
  std::vector<Parameter> parameters;
  int64_t parameter_elements = 0;  // of an arena
  int64_t samples = 0;
  int64_t batches_per_update = 1;  // the update runs once per so many computes

  TensorId Add(PlanTensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
  }
  const PlanTensor& at(TensorId id) const { return tensors[static_cast<size_t>(id)]; }
};

bool IsElementwise(device::Kernel kernel);
// Multiplications and additions; for kernels other than gemm, one per value written.
uint64_t Flops(const Plan& plan, const PlanOp& op);
// Of a step, with its share of the update.
uint64_t Flops(const Plan& plan);
// The size of all activations that some op writes or reads, each on a 64-byte boundary.
uint64_t ActivationBytes(const Plan& plan);

// Removes ops that repeat an earlier one on the same values; returns how many. The model asks for
// what it needs wherever it needs it (the backward pass for activations, both passes for narrow
// weights), and relies on this pass.
size_t RemoveDuplicates(Plan& plan);

// Merges a product, its bias and the gelu of the sum into one op, kDense, if nothing else reads the
// product. For devices where bias and gelu then cost nothing; without rounding in between, narrow
// types get other bits. Returns how many ops it saved.
size_t FuseDense(Plan& plan);

// Merges neighboring elementwise ops, each using the result of one before it, into one pass over
// the values. Results that nothing else reads are never stored. Returns how many ops it saved.
size_t FuseElementwise(Plan& plan);

// The addresses of a plan's arenas. On a device that computes nothing all may be 0.
struct Addresses {
  device::Address activations = 0;
  device::Address images = 0;
  device::Address labels = 0;
  device::Address weights = 0;
  device::Address gradients = 0;
  device::Address sum = 0;
  device::Address reduced = 0;
  device::Address moment1 = 0;
  device::Address moment2 = 0;
  device::Address state = 0;
};

struct Program {
  std::vector<device::Launch> compute;
  std::vector<device::Launch> update;
  // If the step is captured; the update has its own graph with several replicas, or if it is one of
  // several batches.
  std::shared_ptr<const device::Graph> compute_graph;
  std::shared_ptr<const device::Graph> update_graph;
  uint64_t flops = 0;
};

// Each launch gets its share of the step in proportion to its arithmetic. An update of several
// batches gets none: the time of a step is then all its batch's.
Program Bind(const Plan& plan, const Addresses& addresses);

}  // namespace stallscope::trainer
