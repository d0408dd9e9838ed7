// From a launch to the bodies that run it, in order: the same for the device and for the tests,
// which differ in the runner. A runner has
//
//   Each<number>(body, count)   body(i) for every i below count
//   Rows<number>(body, count)   body(row, lanes), with all lanes of a group
//   Turn<number>(transpose, matrices)
//   Zero(address, bytes)
//
// where `number` is that of the launch's device::Kernel, by which a trace identifies the kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collectors/device/cuda/kernel_bodies.h"
#include "collectors/device/cuda/step_bodies.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

inline Values At(const Operand& operand) {
  return {reinterpret_cast<void*>(operand.address), operand.elements, operand.type};
}
inline float* FloatsAt(const Operand& operand) { return reinterpret_cast<float*>(operand.address); }

// The number of chunks in which rows are summed.
struct Chunks {
  int64_t count;
  int64_t rows;
};
inline Chunks ChunksOf(int64_t rows) {
  constexpr int64_t kMost = 256;
  const int64_t each = std::max<int64_t>(64, (rows + kMost - 1) / kMost);
  return {(rows + each - 1) / each, each};
}

// How many floats of scratch the launch needs beside its operands.
inline int64_t ScratchFloats(const Launch& launch) {
  switch (launch.kernel) {
    case Kernel::kSumRows:
      return ChunksOf(launch.ints[0]).count * launch.ints[1];
    case Kernel::kSoftmaxCrossEntropy:
      return 2 * launch.ints[0];
    default:
      return 0;
  }
}

// Whether the launch's operands are few enough to be passed by value.
inline bool FitsInArguments(const Launch& launch) {
  if (launch.kernel == Kernel::kAllReduce) return launch.in.size() <= AllReduce::kMost;
  if (launch.kernel == Kernel::kScaleChannels) return launch.ints[0] <= ScaleChannels::kMost;
  if (launch.kernel != Kernel::kFused) return true;
  return launch.fused.size() <= Elementwise::kMostSteps &&
         launch.in.size() <= Elementwise::kMostOperands &&
         launch.out.size() <= Elementwise::kMostOperands;
}

inline Elementwise ElementwiseOf(const Launch& launch) {
  Elementwise all{};
  for (size_t i = 0; i < launch.in.size(); ++i) all.in[i] = At(launch.in[i]);
  for (size_t i = 0; i < launch.out.size(); ++i) all.out[i] = At(launch.out[i]);
  if (launch.kernel != Kernel::kFused) {
    all.steps[all.count++] = {launch.kernel, launch.out[0].type, 0, 1, 0};
    return all;
  }
  for (const FusedStep& step : launch.fused) {
    all.steps[all.count++] = {step.kernel, step.type, static_cast<int8_t>(step.a),
                              static_cast<int8_t>(step.b), static_cast<int8_t>(step.out)};
  }
  return all;
}

template <class Runner>
void CallSoftmax(const Launch& launch, float* scratch, Fault* fault, Runner&& run) {
  constexpr int kNumber = static_cast<int>(Kernel::kSoftmaxCrossEntropy);
  const int64_t rows = launch.ints[0];
  const auto* labels = reinterpret_cast<const int32_t*>(launch.in[1].address);
  float* state = FloatsAt(launch.in[2]);
  const float share = 1.0f / static_cast<float>(launch.ints[2]);
  float* losses = scratch;
  float* correct = scratch + rows;
  run.template Rows<kNumber>(SoftmaxRow{At(launch.in[0]), At(launch.out[0]), labels, state, losses,
                                        correct, launch.ints[1], share},
                             rows);
  run.template Rows<kNumber>(
      SumLosses{losses, correct, labels, state, fault, rows, launch.ints[1], share}, 1);
}

template <class Runner>
void CallOptimizer(const Launch& launch, Runner&& run) {
  const auto& f = launch.floats;
  const auto& in = launch.in;
  const auto& out = launch.out;
  switch (launch.kernel) {
    case Kernel::kSgd:
      run.template Each<static_cast<int>(Kernel::kSgd)>(
          Sgd{At(in[0]), FloatsAt(in[1]), FloatsAt(out[0]), FloatsAt(out[1]), f[0], f[1]},
          in[0].elements);
      return;
    case Kernel::kAdam:
      run.template Each<static_cast<int>(Kernel::kAdam)>(CountAdamStep{FloatsAt(in[1])}, 1);
      run.template Each<static_cast<int>(Kernel::kAdam)>(
          Adam{At(in[0]), FloatsAt(in[1]), FloatsAt(out[0]), FloatsAt(out[1]), FloatsAt(out[2]),
               f[0], f[1], f[2], f[3]},
          in[0].elements);
      return;
    case Kernel::kCheckFinite:
      run.template Each<static_cast<int>(Kernel::kCheckFinite)>(
          CheckFinite{At(in[0]), FloatsAt(in[1])}, in[0].elements);
      return;
    case Kernel::kUpdateScale:
      run.template Each<static_cast<int>(Kernel::kUpdateScale)>(
          UpdateScale{FloatsAt(in[0]), static_cast<float>(launch.ints[0])}, 1);
      return;
    default:
      run.template Each<static_cast<int>(Kernel::kBeginStep)>(BeginStep{FloatsAt(in[0])}, 1);
  }
}

// One case per kernel, because each has its own number.
template <class Runner>
void CallElementwise(const Launch& launch, Runner&& run) {
  const Elementwise body = ElementwiseOf(launch);
  const int64_t count = launch.out[0].elements;
  switch (launch.kernel) {
    case Kernel::kAddBias:
      return run.template Each<static_cast<int>(Kernel::kAddBias)>(body, count);
    case Kernel::kGelu:
      return run.template Each<static_cast<int>(Kernel::kGelu)>(body, count);
    case Kernel::kGeluBackward:
      return run.template Each<static_cast<int>(Kernel::kGeluBackward)>(body, count);
    case Kernel::kAdd:
      return run.template Each<static_cast<int>(Kernel::kAdd)>(body, count);
    case Kernel::kCast:
      return run.template Each<static_cast<int>(Kernel::kCast)>(body, count);
    default:
      return run.template Each<static_cast<int>(Kernel::kFused)>(body, count);
  }
}

template <class Runner>
void CallShape(const Launch& launch, float* scratch, Runner&& run) {
  const auto& i = launch.ints;
  const auto& f = launch.floats;
  const Values in = At(launch.in[0]);
  const Values out = At(launch.out[0]);
  switch (launch.kernel) {
    case Kernel::kSumRows: {
      const Chunks chunks = ChunksOf(i[0]);
      run.template Each<static_cast<int>(Kernel::kSumRows)>(
          SumRowsOfChunk{in, scratch, i[0], i[1], chunks.rows}, chunks.count * i[1]);
      run.template Each<static_cast<int>(Kernel::kSumRows)>(
          SumChunks{scratch, out, chunks.count, i[1]}, i[1]);
      return;
    }
    case Kernel::kTranspose:
      return run.template Turn<static_cast<int>(Kernel::kTranspose)>(Transpose{in, out, i[1], i[2]},
                                                                     i[0]);
    case Kernel::kPatches:
      return run.template Each<static_cast<int>(Kernel::kPatches)>(
          Patches{in, out, static_cast<int32_t>(i[1]), static_cast<int32_t>(i[2]),
                  static_cast<int32_t>(i[3]), static_cast<int32_t>(i[4]), f[0], f[1]},
          out.elements);
    case Kernel::kConvert:
      return run.template Each<static_cast<int>(Kernel::kConvert)>(Convert{in, out, f[0], f[1]},
                                                                   out.elements);
    case Kernel::kMeanPool:
      return run.template Each<static_cast<int>(Kernel::kMeanPool)>(MeanPool{in, out, i[1], i[2]},
                                                                    out.elements);
    default:
      return run.template Each<static_cast<int>(Kernel::kMeanPoolBackward)>(
          MeanPoolBackward{in, out, i[1], i[2]}, out.elements);
  }
}

template <class Runner>
void CallImage(const Launch& launch, Runner&& run) {
  const auto& i = launch.ints;
  const Values in = At(launch.in[0]);
  const Values out = At(launch.out[0]);
  if (launch.kernel == Kernel::kRegions) {
    const auto side = [&](size_t which) { return static_cast<int32_t>(i[which]); };
    return run.template Each<static_cast<int>(Kernel::kRegions)>(
        Regions{in, out, reinterpret_cast<const int32_t*>(launch.in[1].address), side(1), side(2),
                side(3), side(4), side(5)},
        out.elements);
  }
  ScaleChannels body{in, out, static_cast<int32_t>(i[0]), {}, {}};
  for (int32_t c = 0; c < body.channels; ++c) {
    body.scale[c] = launch.floats[static_cast<size_t>(c)];
    body.offset[c] = launch.floats[static_cast<size_t>(body.channels + c)];
  }
  run.template Each<static_cast<int>(Kernel::kScaleChannels)>(body, out.elements);
}

// Every kernel but kDense and kImageOp; kGemm in the slow way that takes any types. `scratch` has
// ScratchFloats.
template <class Runner>
void CallKernel(const Launch& launch, float* scratch, Fault* fault, Runner&& run) {
  switch (launch.kernel) {
    case Kernel::kGemm: {
      const auto& i = launch.ints;
      run.template Each<static_cast<int>(Kernel::kGemm)>(
          Product{At(launch.in[0]), At(launch.in[1]), At(launch.out[0]), i[2], i[3], i[4],
                  i[0] != 0, i[1] != 0, launch.floats[0], launch.floats[1]},
          launch.out[0].elements);
      return;
    }
    case Kernel::kSumRows:
    case Kernel::kTranspose:
    case Kernel::kPatches:
    case Kernel::kConvert:
    case Kernel::kMeanPool:
    case Kernel::kMeanPoolBackward:
      return CallShape(launch, scratch, run);
    case Kernel::kSoftmaxCrossEntropy:
      return CallSoftmax(launch, scratch, fault, run);
    case Kernel::kZero:
      return run.Zero(launch.out[0].address, launch.out[0].bytes());
    case Kernel::kBeginStep:
    case Kernel::kCheckFinite:
    case Kernel::kSgd:
    case Kernel::kAdam:
    case Kernel::kUpdateScale:
      return CallOptimizer(launch, run);
    case Kernel::kAllReduce: {
      AllReduce all{};
      for (const Operand& replica : launch.in) all.replicas[all.count++] = At(replica);
      all.out = At(launch.out[0]);
      return run.template Each<static_cast<int>(Kernel::kAllReduce)>(all, all.out.elements);
    }
    case Kernel::kRegions:
    case Kernel::kScaleChannels:
      return CallImage(launch, run);
    case Kernel::kImageOp:
    case Kernel::kDense:
      return;
    default:
      return CallElementwise(launch, run);
  }
}

}  // namespace stallscope::device::cuda
