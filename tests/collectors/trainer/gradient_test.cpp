// Gradients against finite differences, in float32, on each device that computes.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "collectors/trainer/model.h"
#include "collectors/trainer/plan.h"
#include "tests/collectors/device/on_cuda.h"
#include "tests/collectors/trainer/one_pass.h"
#include "tests/support/random.h"

namespace stallscope {
namespace {

using namespace trainer;
void CheckGradients(const TrainerSpec& trainer, const BatchForm& form, device::Kind kind) {
  Plan plan = BuildPlan(trainer, form, form.samples, false);
  RemoveDuplicates(plan);
  FuseElementwise(plan);
  test::OnePass pass(plan, form, kind);
  auto weights = InitialWeights(plan, 3);
  pass.Loss(weights);
  const auto gradients = pass.Gradients();
  test::Random random(4);
  for (const Parameter& parameter : plan.parameters) {
    CAPTURE(parameter.name);
    // Along the gradient of the whole parameter, which is larger than rounding.
    double norm = 0;
    for (int64_t i = 0; i < parameter.elements; ++i) {
      const auto g = static_cast<double>(gradients[static_cast<size_t>(parameter.offset + i)]);
      norm += g * g;
    }
    REQUIRE(norm > 0);
    const double step = 2e-3 / std::sqrt(norm);
    const auto moved = [&](double by) {
      auto there = weights;
      for (int64_t i = 0; i < parameter.elements; ++i) {
        const auto at = static_cast<size_t>(parameter.offset + i);
        there[at] += static_cast<float>(by * static_cast<double>(gradients[at]));
      }
      return pass.Loss(there);
    };
    // Small parameters have small slopes: a step that moves the loss by a thousandth at least.
    const double by = std::max(step, 1e-3 / norm);
    const double slope = (moved(by) - moved(-by)) / (2 * by);
    CHECK(slope == doctest::Approx(norm).epsilon(0.02));
  }
}

TEST_SUITE("fast") {
  COMPUTING_DEVICE_CASE("the mixer's gradients are those of its loss") {
    TrainerSpec trainer;
    trainer.model = {ModelKind::kMixer, 6, 2, 2, 3};
    CheckGradients(trainer, {4, {6, 5, 3}, data::DType::kFloat32}, on_each.kinds[0]);
  }

  COMPUTING_DEVICE_CASE("the mlp's gradients are those of its loss") {
    TrainerSpec trainer;
    trainer.model = {ModelKind::kMlp, 10, 3, 1, 3};
    CheckGradients(trainer, {5, {17}, data::DType::kFloat32}, on_each.kinds[0]);
  }
}

}  // namespace
}  // namespace stallscope
