// What a device is asked to run: one of a closed list of kernels, with plain data. A backend
// implements each, or has no arithmetic at all; nothing else about a model reaches a device.
//
// A launch refers to device memory by address and owns none of it. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::device {

enum class Type : uint8_t { kUint8, kInt32, kFloat16, kBfloat16, kFloat32 };
size_t SizeOf(Type type);
std::string_view Name(Type type);  // "float16"

// In device memory. Only the device may dereference it.
using Address = uint64_t;

struct Operand {
  Address address = 0;
  int64_t elements = 0;
  Type type = Type::kFloat32;
  size_t bytes() const { return static_cast<size_t>(elements) * SizeOf(type); }
  bool operator==(const Operand&) const = default;
};

// Matrices are row-major and dense. Arithmetic is done in float32, whatever the operands' types; a
// result is rounded once, when it is stored. `i`: Launch::ints, `f`: Launch::floats.
enum class Kernel : uint8_t {
  // out[m,n] = f0 a*b + f1 out; a is m x k, or k x m if i0 is 1; b is k x n, or n x k if i1 is 1.
  // i: a and b transposed?, m, n, k; and 1 if the factors may be rounded to TF32
  kGemm,
  // Elementwise: out has as many elements as the first input.
  kAddBias,       // x, bias: out[r,c] = x[r,c] + bias[c]
  kGelu,          // x
  kGeluBackward,  // x, gradient
  kAdd,           // x, y
  kCast,          // x
  kFused,         // several of the above in one pass: see FusedStep
  kSumRows,       // x [i0,i1]: out[c] = the sum over rows
  kTranspose,     // x [i0,i1,i2]: out [i0,i2,i1]
  // images [i0,i1,i2,i3], side i4: out [i0 * patches, i4*i4*i3], each value * f0 + f1. Rows and
  // columns that do not fill a patch are dropped.
  kPatches,
  kConvert,           // x: out = x * f0 + f1
  kMeanPool,          // x [i0,i1,i2]: out [i0,i2]
  kMeanPoolBackward,  // gradient [i0,i2]: out [i0,i1,i2]
  // logits [i0,i1], labels; out: the logits' gradient of the mean over i2 samples, times the
  // state's loss scale. Loss (the sum over i0 samples / i2) and correct answers go to the state.
  kSoftmaxCrossEntropy,
  kZero,         // out = 0
  kBeginStep,    // state: a new step
  kCheckFinite,  // gradients, state: the step is skipped if one is infinite or NaN
  // gradients, state; out: weights (float32), then momentum (kSgd) or both moments (kAdam). f:
  // learning rate, momentum (kSgd) or both decays and epsilon (kAdam). Does nothing in a step that
  // is skipped.
  kSgd,
  kAdam,
  kUpdateScale,  // state: halves the loss scale after a skipped step, doubles after i0 good ones
  kAllReduce,    // the replicas' gradients: out = their sum
  kImageOp,      // see Launch::on_host
  // a, b, bias: gemm with f0 = 1 and f1 = 0, then the bias; where i6 is 1 out[0] is the gelu of
  // that, and out[1] takes it before. Nothing is rounded between them, unless a backend does it in
  // steps.
  kDense,
  // Only on devices with Capabilities::image_kernels. images [i0,i1,i2,i3], regions (int32, five
  // for each image: x, y, width, height, 1 if mirrored): out [i0,i4,i5,i3], each image's region,
  // resized bilinearly
  kRegions,
  kScaleChannels,  // x, whose values belong to i0 channels in turn: out = x * f[c] + f[i0 + c]
};
std::string_view Name(Kernel kernel);  // "gemm"

// The state that steps share: float32 values on the device, so that a captured graph stays the same
// from step to step.
enum State : size_t {
  kLossScale = 0,
  kFinite,     // 1; 0: the step is skipped
  kGoodSteps,  // since the scale changed
  kLoss,
  kCorrect,
  kAdamSteps,
  kStateValues = 16,
};

// One step of kFused. `a` and `b`: 0.. are the launch's inputs, -1, -2.. the results of the first,
// second.. step; `b` counts where the kernel takes two. `out`: which of the launch's outputs takes
// it; -1: none. Each result is rounded to `type`, so that a fused chain gives the same bits.
struct FusedStep {
  Kernel kernel = Kernel::kAdd;
  int a = 0;
  int b = 0;
  int out = -1;
  Type type = Type::kFloat32;
  bool operator==(const FusedStep&) const = default;
};

// A launch's share of a training step: an emulated device knows how long a step takes, and gives
// the launch [from, to) of it. of = 0: none.
struct StepPart {
  int64_t samples = 0;
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t of = 0;
};

struct Launch {
  Kernel kernel = Kernel::kAdd;
  std::vector<Operand> in;
  std::vector<Operand> out;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<FusedStep> fused;
  StepPart part;
  // kImageOp: the op as the spec writes it, and how the host does it: from the bytes of in[0] to
  // those of out[0]. A backend whose memory the host cannot access copies both to the host and
  // back.
  std::string image_op;
  std::function<Status(const void* in, void* out)> on_host;

  // The name in the trace: the kernel's, or the image op's.
  std::string_view name() const { return kernel == Kernel::kImageOp ? image_op : Name(kernel); }
};

// An error unless the operands are as many and as large as the kernel needs.
Status CheckLaunch(const Launch& launch);

// For a call that is not allowed inside a capture, or outside one.
Error CaptureError(const char* what);
// kSoftmaxCrossEntropy's error for a label that is not a class.
Error BadLabel(int32_t label, int64_t sample, int64_t classes);

}  // namespace stallscope::device
