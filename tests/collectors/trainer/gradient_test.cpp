// Gradients against finite differences, in float32 on the host.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "collectors/trainer/model.h"
#include "collectors/trainer/parameters.h"
#include "collectors/trainer/plan_passes.h"
#include "collectors/trainer/program.h"
#include "tests/collectors/device/devices.h"
#include "tests/support/random.h"

namespace stallscope {
namespace {

using namespace trainer;
using test::Must;
using test::OnDevice;

// A plan whose weights can be set, and the loss and gradients of one pass.
class Pass {
 public:
  Pass(const Plan& plan, const BatchForm& form)
      : images_(*on_, form.values()),
        labels_(*on_, form.samples, device::Type::kInt32),
        weights_(*on_, plan.parameter_elements),
        gradients_(*on_, plan.parameter_elements),
        state_(*on_, device::kStateValues),
        activations_(Must(on_->Allocate(ActivationBytes(plan)))) {
    test::Random random(9);
    std::vector<float> images(static_cast<size_t>(form.values()));
    for (float& v : images) v = static_cast<float>(random.Below(1000)) / 500 - 1;
    std::vector<int32_t> labels(static_cast<size_t>(form.samples));
    for (int32_t& v : labels) v = static_cast<int32_t>(random.Below(3));
    test::Put(*stream_, images_, images);
    test::Put(*stream_, labels_, labels);
    test::Put(*stream_, gradients_,
              std::vector<float>(static_cast<size_t>(plan.parameter_elements)));
    std::vector<float> state(device::kStateValues);
    state[device::kLossScale] = 1;
    test::Put(*stream_, state_, state);
    Addresses at;
    at.activations = activations_.address();
    at.images = images_.block.address();
    at.labels = labels_.block.address();
    at.weights = weights_.block.address();
    at.gradients = at.reduced = gradients_.block.address();
    at.moment1 = weights_.block.address();  // the update is not run
    at.state = state_.block.address();
    program_ = Bind(plan, at);
  }

  double Loss(const std::vector<float>& weights) {
    test::Put(*stream_, weights_, weights);
    for (const auto& launch : program_.compute) Must(stream_->Run(launch, ItemId{1}));
    return static_cast<double>(test::Get<float>(*stream_, state_)[device::kLoss]);
  }
  std::vector<float> Gradients() { return test::Get<float>(*stream_, gradients_); }

 private:
  std::unique_ptr<device::Device> on_ = test::MakeTestDevice(device::Kind::kHost);
  OnDevice images_, labels_, weights_, gradients_, state_;
  device::Block activations_;
  std::unique_ptr<device::Stream> stream_ = Must(on_->NewStream("s", trace::TrackKind::kStream));
  Program program_;
};

void CheckGradients(const TrainerSpec& trainer, const BatchForm& form) {
  Plan plan = BuildPlan(trainer, form, form.samples, false);
  RemoveDuplicates(plan);
  FuseElementwise(plan);
  Pass pass(plan, form);
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
  TEST_CASE("the mixer's gradients are those of its loss") {
    TrainerSpec trainer;
    trainer.model = {ModelKind::kMixer, 6, 2, 2, 3};
    CheckGradients(trainer, {4, {6, 5, 3}, data::DType::kFloat32});
  }

  TEST_CASE("the mlp's gradients are those of its loss") {
    TrainerSpec trainer;
    trainer.model = {ModelKind::kMlp, 10, 3, 1, 3};
    CheckGradients(trainer, {5, {17}, data::DType::kFloat32});
  }
}

}  // namespace
}  // namespace stallscope
