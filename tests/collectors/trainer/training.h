// Short training runs for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/spec/spec.h"
#include "collectors/trainer/trainer.h"

namespace stallscope::test {

using BatchSource = std::function<Result<std::optional<pipeline::Element>>()>;

// `count` batches, then the end. Images of side x side, whose bytes and labels (below `classes`)
// come from the batch's number; every one is learnable.
BatchSource Images(int count, int64_t samples, int64_t side, int64_t classes,
                   data::BufferMemory* memory = nullptr);
// Batches of `samples` times `bytes` undecoded bytes without sensible labels.
BatchSource Bytes(int count, int64_t samples, int64_t bytes, data::BufferMemory* memory = nullptr);

// A small mixer on the host, whose data goes over as uint8.
Spec SmallSpec();

struct Trained {
  Result<trainer::TrainResult> result = Error{};
  std::vector<double> losses;  // after each step
};
// Makes devices and trainer, and runs it.
Trained Train(const Spec& spec, const BatchSource& source, recorder::Recorder* recorder = nullptr,
              device::DeviceClock* clock = nullptr,
              const std::function<void(trainer::TrainerOptions&)>& change = {});

}  // namespace stallscope::test
