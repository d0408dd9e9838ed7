// Compiled without contraction into fused multiply-adds: a chain that is fused must give the bits
// of the same kernels run one by one.
#include "collectors/device/host_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "analyzer/base/narrow_float.h"
#include "collectors/device/gelu.h"

namespace stallscope::device {
namespace {

template <class Value, class Convert>
void Spread(const void* from, int64_t count, float* to, Convert&& convert) {
  const auto* values = static_cast<const Value*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = convert(values[i]);
}

template <class Value, class Convert>
void Pack(const float* from, int64_t count, void* to, Convert&& convert) {
  auto* values = static_cast<Value*>(to);
  for (int64_t i = 0; i < count; ++i) values[i] = convert(from[i]);
}

}  // namespace

void ToFloats(Type type, const void* from, int64_t count, float* to) {
  switch (type) {
    case Type::kUint8:
      return Spread<uint8_t>(from, count, to, [](uint8_t v) { return static_cast<float>(v); });
    case Type::kInt32:
      return Spread<int32_t>(from, count, to, [](int32_t v) { return static_cast<float>(v); });
    case Type::kFloat16:
      return Spread<uint16_t>(from, count, to, FromFloat16);
    case Type::kBfloat16:
      return Spread<uint16_t>(from, count, to, FromBfloat16);
    case Type::kFloat32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

void FromFloats(Type type, const float* from, int64_t count, void* to) {
  switch (type) {
    case Type::kUint8:
      return Pack<uint8_t>(from, count, to, [](float v) {
        return static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f) + 0.5f);
      });
    case Type::kInt32:
      return Pack<int32_t>(from, count, to, [](float v) { return static_cast<int32_t>(v); });
    case Type::kFloat16:
      return Pack<uint16_t>(from, count, to, ToFloat16);
    case Type::kBfloat16:
      return Pack<uint16_t>(from, count, to, ToBfloat16);
    case Type::kFloat32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

void Round(Type type, float* values, int64_t count) {
  if (type == Type::kFloat16) {
    for (int64_t i = 0; i < count; ++i) values[i] = FromFloat16(ToFloat16(values[i]));
  } else if (type == Type::kBfloat16) {
    for (int64_t i = 0; i < count; ++i) values[i] = FromBfloat16(ToBfloat16(values[i]));
  }
}

namespace {

// Values in flight: a block of each result stays in the first-level cache.
constexpr int64_t kBlock = 512;
using BlockValues = std::array<float, kBlock>;

// An operand's values [start, start + count), widened where they are narrow. A shorter operand
// repeats: a bias has as many values as a row.
const float* Block(const Operand& operand, int64_t start, int64_t count, BlockValues& space) {
  const bool repeats = start + count > operand.elements;
  const auto* bytes = static_cast<const uint8_t*>(Pointer(operand));
  if (operand.type == Type::kFloat32 && !repeats) return Floats(operand) + start;
  for (int64_t done = 0; done < count;) {
    const int64_t at = (start + done) % operand.elements;
    const int64_t part = std::min(count - done, operand.elements - at);
    ToFloats(operand.type, bytes + static_cast<size_t>(at) * SizeOf(operand.type), part,
             space.data() + done);
    done += part;
  }
  return space.data();
}

void Apply(Kernel kernel, const float* __restrict a, const float* __restrict b,
           float* __restrict out, int64_t count) {
  switch (kernel) {
    case Kernel::kGelu:
      for (int64_t i = 0; i < count; ++i) out[i] = GeluOf(a[i]);
      return;
    case Kernel::kGeluBackward:
      for (int64_t i = 0; i < count; ++i) out[i] = b[i] * GeluSlopeOf(a[i]);
      return;
    case Kernel::kAddBias:
    case Kernel::kAdd:
      for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
      return;
    default:  // kCast
      std::copy_n(a, count, out);
  }
}

void RunSteps(const Launch& launch, const std::vector<FusedStep>& steps) {
  const int64_t elements = launch.out[0].elements;
  std::vector<BlockValues> results(steps.size());
  BlockValues space_a;
  BlockValues space_b;
  for (int64_t start = 0; start < elements; start += kBlock) {
    const int64_t count = std::min(kBlock, elements - start);
    const auto value = [&](int which, BlockValues& space) -> const float* {
      if (which < 0) return results[static_cast<size_t>(-1 - which)].data();
      return Block(launch.in[static_cast<size_t>(which)], start, count, space);
    };
    for (size_t k = 0; k < steps.size(); ++k) {
      const FusedStep& step = steps[k];
      const bool two = step.kernel != Kernel::kGelu && step.kernel != Kernel::kCast;
      float* result = results[k].data();
      Apply(step.kernel, value(step.a, space_a), two ? value(step.b, space_b) : nullptr, result,
            count);
      Round(step.type, result, count);
      if (step.out < 0) continue;
      const Operand& out = launch.out[static_cast<size_t>(step.out)];
      FromFloats(
          out.type, result, count,
          static_cast<uint8_t*>(Pointer(out)) + static_cast<size_t>(start) * SizeOf(out.type));
    }
  }
}

constexpr int64_t kGradientBlock = 1024;
constexpr float kLargestScale = 0x1p+127f;

// Calls visit(first, count, gradients / loss scale) for block after block.
template <class Visit>
void ForGradients(const Launch& launch, const float* state, Visit&& visit) {
  const Operand& gradients = launch.in[0];
  const float inverse = 1.0f / state[kLossScale];
  float values[kGradientBlock];
  const auto* bytes = static_cast<const uint8_t*>(Pointer(gradients));
  for (int64_t first = 0; first < gradients.elements; first += kGradientBlock) {
    const int64_t count = std::min(kGradientBlock, gradients.elements - first);
    ToFloats(gradients.type, bytes + static_cast<size_t>(first) * SizeOf(gradients.type), count,
             values);
    for (int64_t i = 0; i < count; ++i) values[i] *= inverse;
    visit(first, count, values);
  }
}

void Sgd(const Launch& launch) {
  const float* state = Floats(launch.in[1]);
  if (state[kFinite] == 0) return;
  const float rate = launch.floats[0];
  const float keep = launch.floats[1];
  ForGradients(launch, state, [&](int64_t first, int64_t count, const float* gradient) {
    float* weights = Floats(launch.out[0]) + first;
    float* velocity = Floats(launch.out[1]) + first;
    for (int64_t i = 0; i < count; ++i) {
      velocity[i] = keep * velocity[i] + gradient[i];
      weights[i] -= rate * velocity[i];
    }
  });
}

void Adam(const Launch& launch) {
  float* state = Floats(launch.in[1]);
  if (state[kFinite] == 0) return;
  state[kAdamSteps] += 1;
  const float rate = launch.floats[0];
  const float keep1 = launch.floats[1];
  const float keep2 = launch.floats[2];
  const float epsilon = launch.floats[3];
  const float correction1 = 1.0f - std::pow(keep1, state[kAdamSteps]);
  const float correction2 = 1.0f - std::pow(keep2, state[kAdamSteps]);
  ForGradients(launch, state, [&](int64_t first, int64_t count, const float* gradient) {
    float* weights = Floats(launch.out[0]) + first;
    float* first_moment = Floats(launch.out[1]) + first;
    float* second_moment = Floats(launch.out[2]) + first;
    for (int64_t i = 0; i < count; ++i) {
      first_moment[i] = keep1 * first_moment[i] + (1 - keep1) * gradient[i];
      second_moment[i] = keep2 * second_moment[i] + (1 - keep2) * gradient[i] * gradient[i];
      weights[i] -= rate * (first_moment[i] / correction1) /
                    (std::sqrt(second_moment[i] / correction2) + epsilon);
    }
  });
}

void CheckFinite(const Launch& launch) {
  float* state = Floats(launch.in[1]);
  ForGradients(launch, state, [&](int64_t, int64_t count, const float* gradient) {
    // Zero times an infinity or a NaN is not zero.
    float nothing = 0;
    for (int64_t i = 0; i < count; ++i) nothing += gradient[i] * 0.0f;
    if (!(nothing == 0.0f)) state[kFinite] = 0;
  });
}

void UpdateScale(const Launch& launch) {
  float* state = Floats(launch.in[0]);
  if (state[kFinite] == 0) {
    state[kLossScale] = std::max(1.0f, state[kLossScale] / 2);
    state[kGoodSteps] = 0;
    return;
  }
  state[kGoodSteps] += 1;
  if (state[kGoodSteps] >= static_cast<float>(launch.ints[0])) {
    state[kLossScale] = std::min(kLargestScale, state[kLossScale] * 2);
    state[kGoodSteps] = 0;
  }
}

// Elementwise kernels, alone or fused: the same code, so that the bits are the same.
void RunElementwise(const Launch& launch) {
  if (launch.kernel == Kernel::kFused) return RunSteps(launch, launch.fused);
  RunSteps(launch, {FusedStep{launch.kernel, 0, 1, 0, launch.out[0].type}});
}

// Optimizers and the loss scale.
void RunOptimizer(const Launch& launch) {
  switch (launch.kernel) {
    case Kernel::kSgd:
      return Sgd(launch);
    case Kernel::kAdam:
      return Adam(launch);
    case Kernel::kCheckFinite:
      return CheckFinite(launch);
    case Kernel::kUpdateScale:
      return UpdateScale(launch);
    default: {  // kBeginStep
      float* state = Floats(launch.in[0]);
      state[kFinite] = 1;
      state[kLoss] = 0;
      state[kCorrect] = 0;
    }
  }
}

}  // namespace

const float* HostKernels::Read(const Operand& operand, size_t slot) {
  if (operand.type == Type::kFloat32) return Floats(operand);
  std::vector<float>& space = scratch_[slot];
  space.resize(std::max(space.size(), static_cast<size_t>(operand.elements)));
  ToFloats(operand.type, Pointer(operand), operand.elements, space.data());
  return space.data();
}

float* HostKernels::Target(const Operand& operand) {
  if (operand.type == Type::kFloat32) return Floats(operand);
  result_.resize(std::max(result_.size(), static_cast<size_t>(operand.elements)));
  return result_.data();
}

void HostKernels::Store(const Operand& operand) {
  if (operand.type == Type::kFloat32) return;
  FromFloats(operand.type, result_.data(), operand.elements, Pointer(operand));
}

Status HostKernels::Gemm(const Launch& launch) {
  const auto& i = launch.ints;
  Product product{i[0] != 0, i[1] != 0, i[2], i[3], i[4], launch.floats[0]};
  product.a = Read(launch.in[0], 0);
  product.b = Read(launch.in[1], 1);
  const Operand& out = launch.out[0];
  product.c = Target(out);
  product.beta = launch.floats[1];
  if (product.beta != 0 && out.type != Type::kFloat32) {
    ToFloats(out.type, Pointer(out), out.elements, product.c);
  }
  STALLSCOPE_RETURN_IF_ERROR(blas_.Multiply(product));
  Store(out);
  return {};
}

// In separate steps, each rounded: the bits of a plan that was not fused.
Status HostKernels::Dense(const Launch& launch) {
  const auto& i = launch.ints;
  const Operand& sum = launch.out[i[6] != 0 ? 1 : 0];
  Product product{i[0] != 0, i[1] != 0, i[2], i[3], i[4]};
  product.a = Read(launch.in[0], 0);
  product.b = Read(launch.in[1], 1);
  product.c = Target(sum);
  STALLSCOPE_RETURN_IF_ERROR(blas_.Multiply(product));
  Store(sum);
  Launch rest;
  rest.kernel = Kernel::kFused;
  rest.in = {sum, launch.in[2]};
  rest.out = {sum};
  rest.fused = {{Kernel::kAddBias, 0, 1, 0, sum.type}};
  if (i[6] != 0) {
    rest.out.push_back(launch.out[0]);
    rest.fused.push_back({Kernel::kGelu, -1, 0, 1, launch.out[0].type});
  }
  RunElementwise(rest);
  return {};
}

void HostKernels::SumRows(const Launch& launch) {
  const int64_t rows = launch.ints[0];
  const int64_t columns = launch.ints[1];
  const float* x = Read(launch.in[0], 0);
  float* sums = Target(launch.out[0]);
  std::fill_n(sums, columns, 0.0f);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * columns;
    for (int64_t c = 0; c < columns; ++c) sums[c] += row[c];
  }
  Store(launch.out[0]);
}

void HostKernels::Transpose(const Launch& launch) {
  constexpr int64_t kTile = 32;
  const int64_t rows = launch.ints[1];
  const int64_t columns = launch.ints[2];
  const float* x = Read(launch.in[0], 0);
  float* out = Target(launch.out[0]);
  for (int64_t n = 0; n < launch.ints[0]; ++n, x += rows * columns, out += rows * columns) {
    for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
      for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
        for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
          for (int64_t c = c0; c < std::min(columns, c0 + kTile); ++c) {
            out[c * rows + r] = x[r * columns + c];
          }
        }
      }
    }
  }
  Store(launch.out[0]);
}

void HostKernels::Patches(const Launch& launch) {
  const int64_t height = launch.ints[1];
  const int64_t width = launch.ints[2];
  const int64_t channels = launch.ints[3];
  const int64_t side = launch.ints[4];
  const float scale = launch.floats[0];
  const float offset = launch.floats[1];
  const float* image = Read(launch.in[0], 0);
  float* out = Target(launch.out[0]);
  const int64_t run = side * channels;
  for (int64_t n = 0; n < launch.ints[0]; ++n, image += height * width * channels) {
    for (int64_t y = 0; y + side <= height; y += side) {
      for (int64_t x = 0; x + side <= width; x += side) {
        for (int64_t row = 0; row < side; ++row, out += run) {
          const float* from = image + ((y + row) * width + x) * channels;
          for (int64_t k = 0; k < run; ++k) out[k] = from[k] * scale + offset;
        }
      }
    }
  }
  Store(launch.out[0]);
}

void HostKernels::Convert(const Launch& launch) {
  const float* x = Read(launch.in[0], 0);
  float* out = Target(launch.out[0]);
  const float scale = launch.floats[0];
  const float offset = launch.floats[1];
  for (int64_t k = 0; k < launch.out[0].elements; ++k) out[k] = x[k] * scale + offset;
  Store(launch.out[0]);
}

void HostKernels::MeanPool(const Launch& launch) {
  const int64_t tokens = launch.ints[1];
  const int64_t channels = launch.ints[2];
  const float* x = Read(launch.in[0], 0);
  float* out = Target(launch.out[0]);
  const float share = 1.0f / static_cast<float>(tokens);
  for (int64_t n = 0; n < launch.ints[0]; ++n, out += channels) {
    std::fill_n(out, channels, 0.0f);
    for (int64_t t = 0; t < tokens; ++t, x += channels) {
      for (int64_t c = 0; c < channels; ++c) out[c] += x[c];
    }
    for (int64_t c = 0; c < channels; ++c) out[c] *= share;
  }
  Store(launch.out[0]);
}

void HostKernels::MeanPoolBackward(const Launch& launch) {
  const int64_t tokens = launch.ints[1];
  const int64_t channels = launch.ints[2];
  const float* gradient = Read(launch.in[0], 0);
  float* out = Target(launch.out[0]);
  const float share = 1.0f / static_cast<float>(tokens);
  for (int64_t n = 0; n < launch.ints[0]; ++n, gradient += channels) {
    for (int64_t t = 0; t < tokens; ++t, out += channels) {
      for (int64_t c = 0; c < channels; ++c) out[c] = gradient[c] * share;
    }
  }
  Store(launch.out[0]);
}

Status HostKernels::SoftmaxCrossEntropy(const Launch& launch) {
  const int64_t classes = launch.ints[1];
  const float share = 1.0f / static_cast<float>(launch.ints[2]);
  const float* logits = Read(launch.in[0], 0);
  const auto* labels = static_cast<const int32_t*>(Pointer(launch.in[1]));
  float* state = Floats(launch.in[2]);
  float* gradient = Target(launch.out[0]);
  const float scale = state[kLossScale] * share;
  double loss = 0;
  int64_t correct = 0;
  for (int64_t n = 0; n < launch.ints[0]; ++n, logits += classes, gradient += classes) {
    if (labels[n] < 0 || labels[n] >= classes) {
      return BadLabel(labels[n], n, classes);
    }
    const float* largest = std::max_element(logits, logits + classes);
    float sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += gradient[c] = std::exp(logits[c] - *largest);
    loss += std::log(sum) - (logits[labels[n]] - *largest);
    if (largest - logits == labels[n]) ++correct;
    for (int64_t c = 0; c < classes; ++c) gradient[c] *= scale / sum;
    gradient[labels[n]] -= scale;
  }
  state[kLoss] += static_cast<float>(loss) * share;
  state[kCorrect] += static_cast<float>(correct);
  Store(launch.out[0]);
  return {};
}

void HostKernels::AllReduce(const Launch& launch) {
  const Operand& out = launch.out[0];
  float* sum = Target(out);
  std::fill_n(sum, out.elements, 0.0f);
  for (const Operand& replica : launch.in) {
    const float* values = Read(replica, 0);
    for (int64_t i = 0; i < out.elements; ++i) sum[i] += values[i];
  }
  Store(out);
}

Status HostKernels::Run(const Launch& launch) {
  switch (launch.kernel) {
    case Kernel::kGemm:
      return Gemm(launch);
    case Kernel::kDense:
      return Dense(launch);
    case Kernel::kAddBias:
    case Kernel::kGelu:
    case Kernel::kGeluBackward:
    case Kernel::kAdd:
    case Kernel::kCast:
    case Kernel::kFused:
      RunElementwise(launch);
      break;
    case Kernel::kSumRows:
      SumRows(launch);
      break;
    case Kernel::kTranspose:
      Transpose(launch);
      break;
    case Kernel::kPatches:
      Patches(launch);
      break;
    case Kernel::kConvert:
      Convert(launch);
      break;
    case Kernel::kMeanPool:
      MeanPool(launch);
      break;
    case Kernel::kMeanPoolBackward:
      MeanPoolBackward(launch);
      break;
    case Kernel::kSoftmaxCrossEntropy:
      return SoftmaxCrossEntropy(launch);
    case Kernel::kZero:
      std::memset(Pointer(launch.out[0]), 0, launch.out[0].bytes());
      break;
    case Kernel::kBeginStep:
    case Kernel::kCheckFinite:
    case Kernel::kSgd:
    case Kernel::kAdam:
    case Kernel::kUpdateScale:
      RunOptimizer(launch);
      break;
    case Kernel::kAllReduce:
      AllReduce(launch);
      break;
    case Kernel::kRegions:
    case Kernel::kScaleChannels:
      return Error{ErrorKind::kRun, "the host device has no such kernel",
                   std::string(launch.name()), ""};
    case Kernel::kImageOp:
      if (!launch.on_host || launch.in.empty() || launch.out.empty()) return {};
      return launch.on_host(Pointer(launch.in[0]), Pointer(launch.out[0]));
  }
  return {};
}

}  // namespace stallscope::device
