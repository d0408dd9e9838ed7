// The loss of a step, and what an optimizer does with its gradients: bodies like those of
// kernel_bodies.h. Several threads compute a loss together.
#pragma once

#include <cmath>
#include <cstdint>

#include "collectors/device/cuda/kernel_values.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

// The threads that share a row: a warp on the device, one on the host.
struct OneLane {
  int lane = 0;
  int lanes = 1;
  template <class T>
  STALLSCOPE_BODY T Sum(T value) const {
    return value;
  }
  STALLSCOPE_BODY float Max(float value) const { return value; }
  STALLSCOPE_BODY int64_t Min(int64_t value) const { return value; }
};

// A label out of range, for the host to read.
struct Fault {
  int32_t is_set;
  int32_t label;
  int64_t sample;
  int64_t classes;
};

// The gradient of a row of logits, its loss, and whether it is correct; -1 if the label is out of
// range.
struct SoftmaxRow {
  Values logits, gradient;
  const int32_t* labels;
  const float* state;
  float* losses;
  float* correct;
  int64_t classes;
  float share;

  template <class Lanes>
  STALLSCOPE_BODY void operator()(int64_t row, const Lanes& lanes) const {
    const int64_t first = row * classes;
    const int32_t label = labels[row];
    if (label < 0 || label >= classes) {
      for (int64_t c = lanes.lane; c < classes; c += lanes.lanes) Store(gradient, first + c, 0);
      if (lanes.lane == 0) correct[row] = -1;
      return;
    }
    float largest = -INFINITY;
    int64_t at = classes;  // of the first largest
    for (int64_t c = lanes.lane; c < classes; c += lanes.lanes) {
      const float value = Load(logits, first + c);
      if (value > largest) {
        largest = value;
        at = c;
      }
    }
    const float top = lanes.Max(largest);
    at = lanes.Min(largest == top ? at : classes);
    float sum = 0;
    for (int64_t c = lanes.lane; c < classes; c += lanes.lanes) {
      sum += expf(Load(logits, first + c) - top);
    }
    sum = lanes.Sum(sum);
    const float scale = state[kLossScale] * share;
    for (int64_t c = lanes.lane; c < classes; c += lanes.lanes) {
      const float value = expf(Load(logits, first + c) - top) * (scale / sum);
      Store(gradient, first + c, c == label ? value - scale : value);
    }
    if (lanes.lane == 0) {
      losses[row] = logf(sum) - (Load(logits, first + label) - top);
      correct[row] = at == label ? 1 : 0;
    }
  }
};

// Adds the rows' losses to the state; only row 0.
struct SumLosses {
  const float* losses;
  const float* correct;
  const int32_t* labels;
  float* state;
  Fault* fault;
  int64_t rows, classes;
  float share;

  template <class Lanes>
  STALLSCOPE_BODY void operator()(int64_t, const Lanes& lanes) const {
    double loss = 0;
    float right = 0;
    int64_t bad = rows;
    for (int64_t row = lanes.lane; row < rows; row += lanes.lanes) {
      if (correct[row] < 0) {
        if (row < bad) bad = row;
        continue;
      }
      loss += static_cast<double>(losses[row]);
      right += correct[row];
    }
    loss = lanes.Sum(loss);
    right = lanes.Sum(right);
    bad = lanes.Min(bad);
    if (lanes.lane != 0) return;
    state[kLoss] += static_cast<float>(loss) * share;
    state[kCorrect] += right;
    if (bad < rows && fault->is_set == 0) {
      fault->label = labels[bad];
      fault->sample = bad;
      fault->classes = classes;
#if defined(__CUDA_ARCH__)
      __threadfence_system();  // the host sees the flag last
#endif
      fault->is_set = 1;
    }
  }
};

struct BeginStep {
  float* state;
  STALLSCOPE_BODY void operator()(int64_t) const {
    state[kFinite] = 1;
    state[kLoss] = 0;
    state[kCorrect] = 0;
  }
};

struct CheckFinite {
  Values gradients;
  float* state;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const float nothing = Load(gradients, i) / state[kLossScale] * 0.0f;
    if (!(nothing == 0.0f)) state[kFinite] = 0;  // all writers write the same value
  }
};

struct Sgd {
  Values gradients;
  const float* state;
  float* weights;
  float* velocity;
  float rate, keep;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    if (state[kFinite] == 0) return;
    const float gradient = Load(gradients, i) * (1.0f / state[kLossScale]);
    const float v = keep * velocity[i] + gradient;
    velocity[i] = v;
    weights[i] -= rate * v;
  }
};

// Before Adam, because all its threads read the count.
struct CountAdamStep {
  float* state;
  STALLSCOPE_BODY void operator()(int64_t) const {
    if (state[kFinite] != 0) state[kAdamSteps] += 1;
  }
};
struct Adam {
  Values gradients;
  const float* state;
  float* weights;
  float* moment1;
  float* moment2;
  float rate, keep1, keep2, epsilon;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    if (state[kFinite] == 0) return;
    const float correction1 = 1.0f - powf(keep1, state[kAdamSteps]);
    const float correction2 = 1.0f - powf(keep2, state[kAdamSteps]);
    const float gradient = Load(gradients, i) * (1.0f / state[kLossScale]);
    const float m1 = keep1 * moment1[i] + (1 - keep1) * gradient;
    const float m2 = keep2 * moment2[i] + (1 - keep2) * gradient * gradient;
    moment1[i] = m1;
    moment2[i] = m2;
    weights[i] -= rate * (m1 / correction1) / (sqrtf(m2 / correction2) + epsilon);
  }
};

struct UpdateScale {
  float* state;
  float interval;
  STALLSCOPE_BODY void operator()(int64_t) const {
    constexpr float kLargest = 1.70141183e38f;  // 2^127
    if (state[kFinite] == 0) {
      const float half = state[kLossScale] / 2;
      state[kLossScale] = half < 1 ? 1 : half;
      state[kGoodSteps] = 0;
      return;
    }
    state[kGoodSteps] += 1;
    if (state[kGoodSteps] >= interval) {
      const float twice = state[kLossScale] * 2;
      state[kLossScale] = twice > kLargest ? kLargest : twice;
      state[kGoodSteps] = 0;
    }
  }
};

}  // namespace stallscope::device::cuda
