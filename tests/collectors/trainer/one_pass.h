// One forward and backward pass of a plan on a device.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "analyzer/base/narrow_float.h"
#include "collectors/device/host_kernels.h"
#include "collectors/trainer/batch_form.h"
#include "collectors/trainer/model.h"
#include "collectors/trainer/plan.h"
#include "tests/collectors/device/devices.h"
#include "tests/support/random.h"

namespace stallscope::test {

// A plan whose weights can be set, and the loss and gradients of one pass. Images and labels are
// random, and the same on every device.
class OnePass {
 public:
  OnePass(const trainer::Plan& plan, const trainer::BatchForm& form, device::Kind kind,
          device::Type gradients = device::Type::kFloat32)
      : on_(MakeTestDevice(kind)),
        images_(*on_, form.values()),
        labels_(*on_, form.samples, device::Type::kInt32),
        weights_(*on_, plan.parameter_elements),
        gradients_(*on_, plan.parameter_elements, gradients),
        state_(*on_, device::kStateValues),
        activations_(Must(on_->Allocate(trainer::ActivationBytes(plan)))) {
    Random random(9);
    std::vector<float> images(static_cast<size_t>(form.values()));
    for (float& v : images) v = static_cast<float>(random.Below(1000)) / 500 - 1;
    std::vector<int32_t> labels(static_cast<size_t>(form.samples));
    for (int32_t& v : labels) v = static_cast<int32_t>(random.Below(3));
    Put(*stream_, images_, images);
    Put(*stream_, labels_, labels);
    Put(*stream_, gradients_, std::vector<uint8_t>(gradients_.block.bytes()));
    std::vector<float> state(device::kStateValues);
    // Small gradients of a narrow type would lose their bits.
    state[device::kLossScale] = gradients == device::Type::kFloat32 ? 1 : 1024;
    Put(*stream_, state_, state);
    trainer::Addresses at;
    at.activations = activations_.address();
    at.images = images_.block.address();
    at.labels = labels_.block.address();
    at.weights = weights_.block.address();
    at.gradients = at.reduced = gradients_.block.address();
    at.moment1 = weights_.block.address();  // the update is not run
    at.state = state_.block.address();
    program_ = trainer::Bind(plan, at);
  }

  double Loss(const std::vector<float>& weights) {
    Put(*stream_, weights_, weights);
    for (const auto& launch : program_.compute) Must(stream_->Run(launch, ItemId{1}));
    return static_cast<double>(Get<float>(*stream_, state_)[device::kLoss]);
  }
  std::vector<float> Gradients() {
    const auto bytes = Get<uint8_t>(*stream_, gradients_);
    std::vector<float> values(static_cast<size_t>(gradients_.operand.elements));
    device::ToFloats(gradients_.operand.type, bytes.data(), gradients_.operand.elements,
                     values.data());
    return values;
  }

 private:
  std::unique_ptr<device::Device> on_;
  OnDevice images_, labels_, weights_, gradients_, state_;
  device::Block activations_;
  std::unique_ptr<device::Stream> stream_ = Must(on_->NewStream("s", trace::TrackKind::kStream));
  trainer::Program program_;
};

}  // namespace stallscope::test
