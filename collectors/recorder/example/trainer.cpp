#include "trainer.h"

#include <cmath>
#include <cstddef>

#include "text.h"

namespace example {

Trainer::Trainer() : weights_(kFeatures), gradient_(kFeatures) {}

double Trainer::Step(const std::vector<Sample>& batch) {
  gradient_.assign(kFeatures, 0);
  double loss = 0;
  for (const Sample& sample : batch) {
    float sum = 0;
    for (size_t i = 0; i < kFeatures; ++i) sum += weights_[i] * sample.features[i];
    const float probability = 1 / (1 + std::exp(-sum));
    const float truth = sample.label > 0 ? probability : 1 - probability;
    loss -= std::log(std::fmax(truth, 1e-7f));
    const float error = probability - sample.label;
    for (size_t i = 0; i < kFeatures; ++i) gradient_[i] += error * sample.features[i];
  }
  constexpr float kLearningRate = 0.5f;
  const float rate = kLearningRate / static_cast<float>(batch.size());
  for (size_t i = 0; i < kFeatures; ++i) weights_[i] -= rate * gradient_[i];
  return loss / static_cast<double>(batch.size());
}

}  // namespace example
