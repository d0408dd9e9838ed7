// The step loop: gets a batch, copies it to the device, trains on it, and records how long each
// part took.
//
//   auto devices = Devices::Make(spec.trainer, recorder);
//   ... build the pipeline, with devices->pinned() as its batch memory where transfer.pinned is set
//   auto trainer = Trainer::Make(spec, *devices, options);
//   auto result = trainer->Run();
//
// Run() belongs to one thread, which is the trainer's in the trace; RequestStop() may come from
// any, and from a signal handler. Without overlap a step is done before the next batch is
// requested; with it the next batch is fetched and copied while one step is still on the device.
// With prefetch_to_device a separate thread keeps batches on the device. With accumulate the model
// is updated in every so many steps only, by the mean of their gradients.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/slow_down.h"
#include "collectors/pipeline/stage_ranges.h"
#include "collectors/recorder/recorder.h"
#include "collectors/trainer/batch_form.h"
#include "collectors/trainer/devices.h"

namespace stallscope::trainer {

struct Progress {
  uint64_t steps = 0;
  uint64_t samples = 0;
  std::optional<double> loss;      // none where the device computes nothing
  std::optional<double> accuracy;  // of the last 50 steps
  double samples_per_s = 0;
  double input_stall = 0;  // share of time in which the device idled, waiting for a batch
};

struct TrainerOptions {
  // Pipeline::Next(), or any other; nothing: the data has ended. Called by one thread at a time.
  std::function<Result<std::optional<pipeline::Element>>()> next;
  // Pipeline::Recycle(); may be empty. By the thread that calls `next`, or by Run()'s.
  std::function<void(pipeline::Element&&)> recycle;
  recorder::Recorder* recorder = nullptr;  // null: nothing is recorded
  pipeline::StageRanges ranges;            // around the work of steps
  // May slow the device; null: never. Must outlive the trainer.
  pipeline::SlowDown* slow_down = nullptr;
  std::function<void(StageId)>
      on_stage;  // called with the trainer's own stage, before the first step
  std::vector<pipeline::DeviceMap> device_maps;
  DeviceOps device_ops;
  std::function<void(const Progress&)> on_progress;  // after each step, on Run()'s thread
};

enum class Ended : uint8_t { kSteps, kData, kStopped };

struct TrainResult {
  Progress last;
  uint64_t updates = 0;        // of the model
  uint64_t skipped_steps = 0;  // by the loss scale
  Ended ended = Ended::kSteps;
  std::string why;  // a line for the user
  // Per step with a full batch, all replicas together.
  uint64_t flops_per_step = 0;
  uint64_t launches_per_step = 0;
  uint64_t captures = 0;           // of graphs
  uint64_t device_peak_bytes = 0;  // of the fullest device
  uint64_t model_bytes = 0;        // weights, gradients, optimizer; even on an emulated device
};

class Trainer {
 public:
  // `devices` must outlive it.
  static Result<std::unique_ptr<Trainer>> Make(const Spec& spec, Devices& devices,
                                               TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Once.
  Result<TrainResult> Run();
  // Ends the run after the steps that are on the device. Whoever calls it also ends a `next` that
  // blocks (Pipeline::Cancel); its error then counts as the end.
  void RequestStop() { stop_.store(true); }

 private:
  class Loop;
  Trainer(const Spec& spec, Devices& devices, TrainerOptions options);

  const Spec spec_;
  Devices& devices_;
  const TrainerOptions options_;
  std::atomic<bool> stop_{false};
};

}  // namespace stallscope::trainer
