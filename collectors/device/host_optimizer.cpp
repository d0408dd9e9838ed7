#include <algorithm>
#include <cmath>

#include "collectors/device/host_kernels.h"
#include "collectors/device/narrow_float.h"

namespace stallscope::device {
namespace {

constexpr int64_t kBlock = 1024;
constexpr float kLargestScale = 0x1p+127f;

// Calls visit(first, count, gradients / loss scale) for block after block.
template <class Visit>
void ForGradients(const Launch& launch, const float* state, Visit&& visit) {
  const Operand& gradients = launch.in[0];
  const float inverse = 1.0f / state[kLossScale];
  float values[kBlock];
  const auto* bytes = static_cast<const uint8_t*>(Pointer(gradients));
  for (int64_t first = 0; first < gradients.elements; first += kBlock) {
    const int64_t count = std::min(kBlock, gradients.elements - first);
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
    // The sum of what each value is too much: nothing times an infinity or a NaN is not zero.
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

}  // namespace

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

}  // namespace stallscope::device
