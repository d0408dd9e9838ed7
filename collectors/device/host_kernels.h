// The kernels on the CPU. Inside this room.
//
// Operands of float32 are used in place; narrower ones are widened into scratch memory first, and
// results rounded once, as a GPU's mixed-precision kernels do.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/device/host_blas.h"
#include "collectors/device/launch.h"

namespace stallscope::device {

inline void* Pointer(const Operand& operand) { return reinterpret_cast<void*>(operand.address); }
inline float* Floats(const Operand& operand) { return static_cast<float*>(Pointer(operand)); }

// Scratch of one stream; its thread's.
class HostKernels {
 public:
  explicit HostKernels(HostBlas& blas) : blas_(blas) {}
  // Operands must have been checked: see CheckLaunch.
  Status Run(const Launch& launch);

 private:
  // The operand's values as floats: in place, or in scratch[slot].
  const float* Read(const Operand& operand, size_t slot);
  // Where to put the results before Store rounds them.
  float* Target(const Operand& operand);
  void Store(const Operand& operand);

  Status Gemm(const Launch& launch);
  Status Dense(const Launch& launch);
  void SumRows(const Launch& launch);
  void Transpose(const Launch& launch);
  void Patches(const Launch& launch);
  void Convert(const Launch& launch);
  void MeanPool(const Launch& launch);
  void MeanPoolBackward(const Launch& launch);
  Status SoftmaxCrossEntropy(const Launch& launch);
  void AllReduce(const Launch& launch);

  HostBlas& blas_;
  std::vector<float> scratch_[3];
  std::vector<float> result_;
};

// Whole arrays; `to` and `from` have `count` values of the type.
void ToFloats(Type type, const void* from, int64_t count, float* to);
void FromFloats(Type type, const float* from, int64_t count, void* to);
// To the nearest value of the type and back.
void Round(Type type, float* values, int64_t count);

}  // namespace stallscope::device
