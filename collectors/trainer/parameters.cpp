#include "collectors/trainer/parameters.h"

#include "analyzer/base/splitmix.h"

namespace stallscope::trainer {
namespace {

// Of mean 0 and deviation 1, nearly normal: the sum of four uniform numbers, which is the same on
// every machine, as logarithms and cosines are not.
float Draw(uint64_t bits) {
  float sum = -2;
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<float>(bits >> (16 * i) & 0xffff) / 65536.0f;
  }
  return sum * 1.7320508f;
}

}  // namespace

std::vector<float> InitialWeights(const Plan& plan, uint64_t seed) {
  std::vector<float> arena(static_cast<size_t>(plan.parameter_elements));
  for (const Parameter& parameter : plan.parameters) {
    if (parameter.deviation == 0) continue;
    for (int64_t i = 0; i < parameter.elements; ++i) {
      const auto at = static_cast<size_t>(parameter.offset + i);
      arena[at] = parameter.deviation * Draw(SplitMix(SplitMix(seed) + at));
    }
  }
  return arena;
}

}  // namespace stallscope::trainer
