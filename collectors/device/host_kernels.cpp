#include "collectors/device/host_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectors/device/narrow_float.h"

namespace stallscope::device {

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

// In the steps that it stands for, each rounded: the bits of a plan that was not fused.
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
      return Error{ErrorKind::kRun,
                   fmt::format("label {} of sample {} is not below the {} classes of the model",
                               labels[n], n, classes),
                   "softmax_cross_entropy", "set trainer.model.classes to what the data has"};
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
