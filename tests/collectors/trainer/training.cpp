#include "tests/collectors/trainer/training.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "tests/support/random.h"

namespace stallscope::test {
namespace {

pipeline::Element NewBatch(int number, int64_t samples, const data::Shape& shape,
                           data::BufferMemory* memory) {
  pipeline::Element batch;
  batch.item = ItemId{static_cast<uint64_t>(number)};
  batch.value = data::Tensor(memory);
  batch.value.Reset(data::DType::kUint8, shape);
  batch.batch = std::make_unique<pipeline::BatchMembers>();
  for (int64_t i = 0; i < samples; ++i) {
    batch.batch->ids.push_back({0, 0, static_cast<uint64_t>(number * samples + i)});
  }
  return batch;
}

}  // namespace

BatchSource Images(int count, int64_t samples, int64_t side, int64_t classes,
                   data::BufferMemory* memory) {
  auto next = std::make_shared<int>(0);
  return [=]() -> Result<std::optional<pipeline::Element>> {
    if (*next == count) return std::optional<pipeline::Element>();
    const int number = (*next)++;
    auto batch = NewBatch(number, samples, {samples, side, side, 3}, memory);
    Random random(static_cast<uint64_t>(number) + 1);
    uint8_t* pixel = batch.value.data();
    for (int64_t s = 0; s < samples; ++s) {
      const auto label = static_cast<int64_t>(random.Below(static_cast<uint64_t>(classes)));
      batch.batch->labels.push_back(label);
      for (int64_t i = 0; i < side * side * 3; ++i) {
        const auto base = static_cast<uint64_t>((label * 255) / classes);
        *pixel++ = static_cast<uint8_t>(base / 2 + random.Below(128));
      }
    }
    return std::optional(std::move(batch));
  };
}

BatchSource Bytes(int count, int64_t samples, int64_t bytes, data::BufferMemory* memory) {
  auto next = std::make_shared<int>(0);
  return [=]() -> Result<std::optional<pipeline::Element>> {
    if (*next == count) return std::optional<pipeline::Element>();
    auto batch = NewBatch((*next)++, samples, {samples, bytes}, memory);
    batch.batch->labels.assign(static_cast<size_t>(samples), 1'000'000);
    return std::optional(std::move(batch));
  };
}

Spec SmallSpec() {
  Spec spec;
  spec.seed = 5;
  spec.transfer.dtype = TransferDtype::kUint8;
  spec.trainer.steps = 0;
  spec.trainer.model.width = 16;
  spec.trainer.model.patch = 4;
  spec.trainer.model.classes = 4;
  spec.trainer.optimizer.learning_rate = 0.05;
  spec.trainer.optimizer.momentum = 0.9;
  return spec;
}

Trained Train(const Spec& spec, const BatchSource& source, recorder::Recorder* recorder,
              device::DeviceClock* clock,
              const std::function<void(trainer::TrainerOptions&)>& change) {
  Trained trained;
  auto devices = trainer::Devices::Make(spec.trainer, recorder, clock);
  if (!devices.ok()) {
    trained.result = devices.error();
    return trained;
  }
  trainer::TrainerOptions options;
  options.next = source;
  options.recorder = recorder;
  options.on_progress = [&](const trainer::Progress& progress) {
    if (progress.loss) trained.losses.push_back(*progress.loss);
  };
  if (change) change(options);
  auto made = trainer::Trainer::Make(spec, *devices.value(), options);
  REQUIRE(made.ok());
  trained.result = made.value()->Run();
  return trained;
}

}  // namespace stallscope::test
