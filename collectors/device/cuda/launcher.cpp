#include "collectors/device/cuda/launcher.h"

#include <string>

#include "collectors/device/cuda/kernel_calls.h"
#include "collectors/device/cuda/kernels.h"
#include "collectors/device/cuda/status.h"

namespace stallscope::device::cuda {
namespace {

bool IsProduct(const Launch& launch) {
  return launch.kernel == Kernel::kGemm || launch.kernel == Kernel::kDense;
}

}  // namespace

Launcher::~Launcher() {
  for (float* each : scratch_) cudaFree(each);
}

Status Launcher::Prepare(const Launch& launch) {
  if (!FitsInArguments(launch)) {
    return Error{ErrorKind::kRun, "more operands or steps than this device's kernels take",
                 std::string(launch.name()), "set trainer.fuse to false, or use fewer replicas"};
  }
  if (IsProduct(launch)) {
    STALLSCOPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto part, products_.Prepare(launch));
    return {};
  }
  const int64_t floats = ScratchFloats(launch);
  if (floats <= scratch_floats_) return {};
  void* block = nullptr;
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaMalloc(&block, static_cast<size_t>(floats) * sizeof(float)),
               "allocating scratch memory"));
  scratch_.push_back(static_cast<float*>(block));
  scratch_floats_ = floats;
  return {};
}

// What the library left undone of the product, the bias and the gelu.
Status Launcher::RunDense(const Launch& launch, Products::Part done, cudaStream_t stream) {
  const Operand& sum = Products::SumOf(launch);
  const auto run = [&](const Launch& step) {
    return StatusOf(RunKernel(step, nullptr, fault_, stream), "launching dense");
  };
  if (done == Products::Part::kNothing) {
    Launch product;
    product.kernel = Kernel::kGemm;
    product.in = {launch.in[0], launch.in[1]};
    product.out = {sum};
    product.ints = launch.ints;
    product.floats = {1, 0};
    STALLSCOPE_RETURN_IF_ERROR(run(product));
  }
  Launch rest;
  rest.kernel = Kernel::kFused;
  rest.in = {sum, launch.in[2]};
  int last = 0;
  if (done < Products::Part::kWithBias) {
    rest.fused.push_back({Kernel::kAddBias, 0, 1, 0, sum.type});
    rest.out = {sum};
    last = -1;
  }
  if (launch.ints[6] != 0) {
    rest.fused.push_back(
        {Kernel::kGelu, last, 0, static_cast<int>(rest.out.size()), launch.out[0].type});
    rest.out.push_back(launch.out[0]);
  }
  return run(rest);
}

Status Launcher::Run(const Launch& launch, cudaStream_t stream) {
  if (IsProduct(launch)) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto part, products_.Prepare(launch));
    if (part != Products::Part::kNothing) {
      STALLSCOPE_RETURN_IF_ERROR(products_.Run(launch, stream));
    }
    if (launch.kernel == Kernel::kDense) {
      return part == Products::Part::kAll ? Status() : RunDense(launch, part, stream);
    }
    if (part != Products::Part::kNothing) return {};
  }
  float* scratch = scratch_.empty() ? nullptr : scratch_.back();
  return StatusOf(RunKernel(launch, scratch, fault_, stream), "launching a kernel");
}

}  // namespace stallscope::device::cuda
