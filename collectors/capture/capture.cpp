#include "collectors/capture/capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include "analyzer/base/thread.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/capture/probe.h"
#include "collectors/device/cuda_module.h"
#include "collectors/pipeline/batch_ops.h"
#include "collectors/pipeline/device_plan.h"
#include "collectors/system/host.h"
#include "collectors/system/origin.h"
#include "collectors/system/sampler.h"

namespace stallscope::capture {
namespace {

trace::RunInfo RunInfoOf(const Spec& spec, const CaptureOptions& options) {
  trace::RunInfo run;
  run.name = spec.name;
  run.tool = options.tool;
  run.command_line = options.command_line;
  run.spec_json = WriteSpec(spec, JsonLayout::kOneLine);
  run.seed = static_cast<uint64_t>(spec.seed);
  run.host = system::ReadHost();
  run.process = static_cast<uint64_t>(getpid());
  std::error_code unknown;
  run.folder = std::filesystem::current_path(unknown).string();
  run.origin = system::OriginOf(run);
  return run;
}

trainer::DeviceOps DeviceOpsOf(pipeline::BatchOps& ops, uint64_t seed) {
  trainer::DeviceOps device_ops;
  device_ops.form_after = [](const pipeline::OpInstance& op,
                             const trainer::BatchForm& in) -> Result<trainer::BatchForm> {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto form,
                                pipeline::BatchOps::FormAfter(op, {in.dtype, in.sample}));
    return trainer::BatchForm{in.samples, form.sample, form.dtype};
  };
  device_ops.run = [&ops](const pipeline::OpInstance& op,
                          const std::vector<pipeline::ElementId>& ids, const data::Tensor& in,
                          data::Tensor& out) { return ops.Run(op, ids, in, out); };
  device_ops.plan = [seed](const pipeline::OpInstance& op,
                           const std::vector<pipeline::ElementId>& ids,
                           const trainer::BatchForm& in) {
    return pipeline::PlanForDevice(op, ids, seed, {in.dtype, in.sample});
  };
  return device_ops;
}

// Where a run on a GPU is watched with Nsight Systems too.
pipeline::StageRanges RangesFor(const Spec& spec) {
  if (spec.trainer.device != TrainerDevice::kCuda || std::getenv("STALLSCOPE_NVTX") == nullptr) {
    return {};
  }
  const auto module = device::LoadCudaModule(device::CudaModulePlaces());
  if (!module.ok() || module.value()->begin_range == nullptr) return {};
  return {module.value()->begin_range, module.value()->end_range};
}

// Looks 20 times a second whether the run must end, and ends it once.
class StopWatch {
 public:
  StopWatch(std::function<bool()> must_stop, std::function<void()> stop)
      : must_stop_(std::move(must_stop)), stop_(std::move(stop)) {}
  ~StopWatch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.Join();
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  // A run that nobody watches any more could not be stopped: it ends where the watch fails.
  Status Start() {
    return thread_.Start([this] { Watch(); }, [this](const Error&) { stop_(); });
  }

 private:
  void Watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; })) {
      lock.unlock();
      if (must_stop_()) return stop_();
      lock.lock();
    }
  }

  const std::function<bool()> must_stop_;
  const std::function<void()> stop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  ThreadGroup thread_;  // last: it uses the others
};

// Everything of a run between the recorder's start and its stop. Members go in reverse order: the
// pipeline's batches lie in the devices' memory.
class Session {
 public:
  Session(const Spec& spec, const CaptureOptions& options, recorder::Recorder* recorder)
      : spec_(spec),
        options_(options),
        recorder_(recorder),
        ops_(static_cast<uint64_t>(spec.seed)) {}

  // What can fail before the first step. `on_first_batch` is called before the trainer has it; its
  // error ends the run.
  Status Prepare(std::function<Status()> on_first_batch);
  Result<trainer::TrainResult> Run();
  void Finish(CaptureResult& result) const;

 private:
  const Spec& spec_;
  const CaptureOptions& options_;
  recorder::Recorder* const recorder_;
  pipeline::BatchOps ops_;
  pipeline::SlowDown slow_down_;
  std::unique_ptr<Prober> prober_;
  std::unique_ptr<trainer::Devices> devices_;
  std::unique_ptr<pipeline::Pipeline> pipeline_;
  std::unique_ptr<trainer::Trainer> trainer_;
  std::unique_ptr<system::SystemSampler> sampler_;
};

Status Session::Prepare(std::function<Status()> on_first_batch) {
  STALLSCOPE_ASSIGN_OR_RETURN(devices_, trainer::Devices::Make(spec_.trainer, recorder_));
  pipeline::PipelineOptions options;
  options.recorder = recorder_;
  options.batch_memory = spec_.transfer.pinned ? devices_->pinned() : nullptr;
  options.digest = options_.digest;
  options.ranges = RangesFor(spec_);
  options.stores = options_.stores;
  if (options_.probe && recorder_ != nullptr) {
    options.slow_down = &slow_down_;
    prober_ = std::make_unique<Prober>(*recorder_, slow_down_, spec_.trainer.steps,
                                       static_cast<uint64_t>(spec_.seed));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(pipeline_, pipeline::Pipeline::Build(spec_, options));
  trainer::TrainerOptions training;
  training.next = [this, first = std::move(on_first_batch)]() mutable {
    auto batch = pipeline_->Next();
    if (!first || !batch.ok() || !batch.value().has_value()) return batch;
    const Status told = std::exchange(first, nullptr)();
    return told.ok() ? std::move(batch) : decltype(batch)(told.error());
  };
  training.recycle = [this](pipeline::Element&& batch) { pipeline_->Recycle(std::move(batch)); };
  training.recorder = recorder_;
  training.ranges = options.ranges;
  training.device_maps = pipeline_->device_maps();
  training.device_ops = DeviceOpsOf(ops_, static_cast<uint64_t>(spec_.seed));
  training.on_progress = options_.on_progress;
  if (prober_ != nullptr) {
    training.slow_down = &slow_down_;
    training.on_stage = [this](StageId trainer) { prober_->SetTrainer(trainer); };
    training.on_progress = [this](const trainer::Progress& at) {
      prober_->OnStep(at.steps);
      if (options_.on_progress) options_.on_progress(at);
    };
  }
  STALLSCOPE_ASSIGN_OR_RETURN(trainer_,
                              trainer::Trainer::Make(spec_, *devices_, std::move(training)));
  if (recorder_ == nullptr) return {};
  recorder_->UpdateRun([&](trace::RunInfo& run) {
    run.graph_json = pipeline_->graph_json();
    run.data_fingerprint = pipeline_->data_fingerprint();
    run.device = devices_->info();
  });
  STALLSCOPE_ASSIGN_OR_RETURN(sampler_, system::SystemSampler::Start(*recorder_));
  return {};
}

Result<trainer::TrainResult> Session::Run() {
  const auto must_stop = [this, looks = 0]() mutable {
    if (options_.stop_requested && options_.stop_requested()) return true;
    // Nobody needs the rest of a run whose trace has a hole; not at every look, because it writes.
    return recorder_ != nullptr && ++looks % 20 == 0 && !recorder_->Flush().ok();
  };
  StopWatch watch(must_stop, [this] {
    trainer_->RequestStop();
    pipeline_->Cancel();
  });
  STALLSCOPE_RETURN_IF_ERROR(watch.Start());
  if (prober_ == nullptr) return trainer_->Run();
  STALLSCOPE_RETURN_IF_ERROR(prober_->Start());
  auto trained = trainer_->Run();
  prober_->Stop();
  return trained;
}

void Session::Finish(CaptureResult& result) const {
  if (sampler_ != nullptr) sampler_->Stop();
  result.device = devices_->info();
  result.digest = pipeline_->Digest();
  result.pipeline = pipeline_->stats();
  if (prober_ != nullptr) {
    for (const std::string& note : prober_->notes()) result.pipeline.notes.push_back(note);
  }
  if (recorder_ == nullptr) return;
  recorder_->UpdateRun([&](trace::RunInfo& run) {
    run.digest = result.digest;
    if (result.pipeline.skipped > 0) {
      run.warnings.push_back(fmt::format("skipped bad elements: {}, of {} bytes; the first: {}",
                                         result.pipeline.skipped, result.pipeline.skipped_bytes,
                                         result.pipeline.first_skipped));
    }
  });
}

// The trace of a run takes its name, and the place of an earlier one, when there is something in it
// that is worth it: at once where nothing is there, else with the first batch. Most runs that fail
// do so before that, and the recording of an hour is worth more than their error.
class TraceName {
 public:
  explicit TraceName(const std::string& path) {
    std::error_code ignored;
    earlier_ = std::filesystem::exists(path, ignored);
  }

  Status Prepared(recorder::Recorder& recorder) { return earlier_ ? Status() : Take(recorder); }
  Status Batch(recorder::Recorder& recorder) { return Take(recorder); }
  // A run whose data had no batch has ended well. Whether the run's trace is what has the name now.
  Result<bool> Ended(recorder::Recorder& recorder, bool failed, bool stopped) {
    if (!failed && !stopped) STALLSCOPE_RETURN_IF_ERROR(Take(recorder));
    return taken_;
  }

 private:
  Status Take(recorder::Recorder& recorder) {
    if (taken_) return {};
    STALLSCOPE_RETURN_IF_ERROR(recorder.Publish());
    taken_ = true;
    return {};
  }

  bool earlier_ = false;
  bool taken_ = false;
};

}  // namespace

Result<CaptureResult> Capture(const Spec& spec, const CaptureOptions& options) {
  TraceName name(options.output);
  std::unique_ptr<recorder::Recorder> recorder;
  if (!options.output.empty()) {
    recorder::Options recording;
    recording.publish = false;
    recording.join_session = false;  // its own trace is what it is for
    STALLSCOPE_ASSIGN_OR_RETURN(
        recorder, recorder::Recorder::Start(options.output, RunInfoOf(spec, options), recording));
  }
  CaptureResult result;
  // Its threads end before the recording does, so that nothing of them is lost.
  const auto run = [&]() -> Result<trainer::TrainResult> {
    Session session(spec, options, recorder.get());
    STALLSCOPE_RETURN_IF_ERROR(session.Prepare(
        [&]() -> Status { return recorder == nullptr ? Status() : name.Batch(*recorder); }));
    if (recorder != nullptr) STALLSCOPE_RETURN_IF_ERROR(name.Prepared(*recorder));
    auto trained = session.Run();
    session.Finish(result);
    return trained;
  };
  auto trained = Guarded(run);
  if (recorder == nullptr) {
    if (!trained.ok()) return std::move(trained).error();
    result.training = std::move(trained).value();
    return result;
  }
  recorder->UpdateRun([&](trace::RunInfo& info) {
    if (trained.ok()) {
      info.flops_per_step = trained.value().flops_per_step;
      info.device.peak_memory_bytes = trained.value().device_peak_bytes;
    } else {
      info.warnings.push_back("the run failed: " + trained.error().Line());
    }
  });
  const bool stopped = trained.ok() && trained.value().ended == trainer::Ended::kStopped;
  const auto named = name.Ended(*recorder, !trained.ok(), stopped);
  result.trace = recorder->Stop();
  if (!trained.ok()) return std::move(trained).error();
  if (!named.ok()) return named.error();
  result.training = std::move(trained).value();
  result.kept_earlier = !named.value();
  if (!result.trace.first_error.empty()) {
    // It names the file, and what to do.
    return Error{ErrorKind::kRun, "the trace is incomplete: " + result.trace.first_error, "", ""};
  }
  return result;
}

}  // namespace stallscope::capture
