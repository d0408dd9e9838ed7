#include "collectors/trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/thread.h"
#include "collectors/recorder/track.h"
#include "collectors/trainer/feed.h"
#include "collectors/trainer/replica.h"
#include "collectors/trainer/step_stats.h"

namespace stallscope::trainer {
namespace {

// The state that a step leaves, read back into pinned memory.
class StateBuffer {
 public:
  explicit StateBuffer(device::Device& device) : device_(device) {
    auto* block = device.AllocatePinned(kBytes);
    values_ = reinterpret_cast<float*>(block);
  }
  StateBuffer(const StateBuffer&) = delete;
  StateBuffer& operator=(const StateBuffer&) = delete;
  ~StateBuffer() { device_.FreePinned(reinterpret_cast<uint8_t*>(values_), kBytes); }
  float* values() { return values_; }

 private:
  static constexpr size_t kBytes = device::kStateValues * sizeof(float);
  device::Device& device_;
  float* values_;
};

}  // namespace

class Trainer::Loop {
 public:
  explicit Loop(Trainer& trainer)
      : spec_(trainer.spec_),
        devices_(trainer.devices_),
        options_(trainer.options_),
        stop_(trainer.stop_),
        in_flight_allowed_(spec_.transfer.overlap ? 1 : 0),
        batches_per_update_(static_cast<uint64_t>(spec_.trainer.accumulate)) {
    clock_map_.Add(ReadClockAnchor());
  }
  ~Loop();

  Result<TrainResult> Run();

 private:
  struct Step {
    LoadedBatch batch;
    trace::Step row;
    int64_t began_ns = 0;  // when its issue began
    std::vector<std::shared_ptr<device::Event>> done;
    std::vector<std::unique_ptr<StateBuffer>> states;
  };

  void DefineStage();
  Status Open();
  Status Issue(LoadedBatch&& batch);
  Status EnqueueStep(Step& step);
  Status FinishOldest();
  Status SlowTheDevice();
  void Account(const Step& step);
  void CountCaptures();
  // Why the loop ends before the next step; nothing: it continues.
  Result<std::optional<Ended>> Next();
  TrainResult Finished(Ended ended) const;

  const Spec& spec_;
  Devices& devices_;
  const TrainerOptions& options_;
  const std::atomic<bool>& stop_;
  const size_t in_flight_allowed_;
  const uint64_t batches_per_update_;
  ClockMap clock_map_;
  StageId stage_;
  std::unique_ptr<Feed> feed_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::shared_ptr<device::Event>> reduced_;  // of the last step
  std::deque<Step> in_flight_;
  std::vector<std::vector<std::unique_ptr<StateBuffer>>> spare_states_;
  uint64_t issued_ = 0;
  int64_t largest_batch_ = 0;
  uint64_t flops_ = 0;
  uint64_t launches_ = 0;
  uint64_t captures_ = 0;
  CounterId captures_counter_;
  CounterId capture_time_counter_;
  StepStats stats_;
  int64_t device_done_ns_ = 0;  // of the last step
  int64_t device_ns_ = 0;       // its time from its issue, or from the end of the step before
  int64_t issue_ns_ = 0;        // the host's time to issue the last step
  pipeline::SlowDown::Debt debt_;
};

// An error may leave steps on the devices: all streams must end before any memory that they may use
// is freed.
Trainer::Loop::~Loop() {
  for (const auto& replica : replicas_) replica->CloseStream();
  feed_.reset();
  replicas_.clear();
}

void Trainer::Loop::DefineStage() {
  if (options_.recorder == nullptr) return;
  trace::StageInfo stage;
  stage.name = "trainer";
  stage.kind = "trainer";
  stage.workers = 1;
  stage.ordered = true;
  stage_ = options_.recorder->DefineStage(stage);
  if (options_.on_stage) options_.on_stage(stage_);
  if (spec_.trainer.graph != GraphMode::kCaptured) return;
  captures_counter_ = options_.recorder->DefineCounter("compilations", "");
  capture_time_counter_ = options_.recorder->DefineCounter("compilations time", "ns");
}

Status Trainer::Loop::Open() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    auto replica = std::make_unique<Replica>(devices_.at(i), spec_.trainer,
                                             static_cast<uint64_t>(spec_.seed), devices_.size(), i);
    STALLSCOPE_RETURN_IF_ERROR(replica->Open());
    replicas_.push_back(std::move(replica));
  }
  feed_ = std::make_unique<Feed>(devices_, spec_, options_, stage_, in_flight_allowed_);
  return feed_->Open();
}

Status Trainer::Loop::EnqueueStep(Step& step) {
  const ItemId batch = step.batch.batch.item;
  const uint64_t of_update = step.row.index % batches_per_update_;
  const bool updates = of_update == batches_per_update_ - 1;
  for (const auto& replica : replicas_) {
    // The last step's gradients are read by all until its sum is done.
    for (const auto& event : reduced_) STALLSCOPE_RETURN_IF_ERROR(replica->stream().Wait(event));
    STALLSCOPE_RETURN_IF_ERROR(
        replica->Compute(step.batch, options_.device_maps, options_.device_ops, of_update == 0));
  }
  if (updates && replicas_.size() > 1) {
    std::vector<std::shared_ptr<device::Event>> computed;
    for (const auto& replica : replicas_) {
      STALLSCOPE_ASSIGN_OR_RETURN(auto event, replica->stream().Record());
      computed.push_back(std::move(event));
    }
    reduced_.clear();
    for (const auto& replica : replicas_) {
      for (const auto& event : computed) STALLSCOPE_RETURN_IF_ERROR(replica->stream().Wait(event));
      STALLSCOPE_RETURN_IF_ERROR(replica->AllReduce(replicas_, batch));
      STALLSCOPE_ASSIGN_OR_RETURN(auto event, replica->stream().Record());
      reduced_.push_back(std::move(event));
    }
  }
  for (size_t i = 0; i < replicas_.size(); ++i) {
    if (updates) STALLSCOPE_RETURN_IF_ERROR(replicas_[i]->Update(batch));
    STALLSCOPE_RETURN_IF_ERROR(replicas_[i]->ReadState(step.states[i]->values(), batch));
    STALLSCOPE_ASSIGN_OR_RETURN(auto event, replicas_[i]->stream().Record());
    step.done.push_back(std::move(event));
  }
  return {};
}

// The analyzer treats a graph that is captured again like a function that is compiled again.
void Trainer::Loop::CountCaptures() {
  uint64_t captures = 0;
  int64_t capture_ns = 0;
  for (const auto& replica : replicas_) {
    captures += replica->captures();
    capture_ns += replica->capture_ns();
  }
  if (captures == captures_) return;
  captures_ = captures;
  if (auto* track = recorder::CurrentTrack(); track != nullptr) {
    const Ticks now = NowTicks();
    track->Sample(captures_counter_, static_cast<double>(captures), now);
    track->Sample(capture_time_counter_, static_cast<double>(capture_ns), now);
  }
}

Status Trainer::Loop::Issue(LoadedBatch&& batch) {
  Step step;
  step.batch = std::move(batch);
  if (!spare_states_.empty()) {
    step.states = std::move(spare_states_.back());
    spare_states_.pop_back();
  }
  for (size_t i = step.states.size(); i < devices_.size(); ++i) {
    step.states.push_back(std::make_unique<StateBuffer>(devices_.at(i)));
    if (step.states.back()->values() == nullptr) {
      return Error{ErrorKind::kRun, "out of pinned memory", "trainer", ""};
    }
  }
  step.row.index = issued_++;
  step.row.batch = step.batch.batch.item;
  step.row.samples = static_cast<uint32_t>(step.batch.samples);
  step.row.requested_ns = static_cast<int64_t>(step.batch.requested);
  step.row.received_ns = static_cast<int64_t>(step.batch.received);
  // In flight before any of its work: what it holds must outlive the work, even after an error.
  in_flight_.push_back(std::move(step));
  Step& mine = in_flight_.back();
  mine.began_ns = MonotonicNs();
  {
    const recorder::SpanScope span(stage_, mine.row.batch);
    const pipeline::RangeScope range(options_.ranges, "step");
    STALLSCOPE_RETURN_IF_ERROR(EnqueueStep(mine));
  }
  issue_ns_ = MonotonicNs() - mine.began_ns;
  mine.row.issued_ns = static_cast<int64_t>(NowTicks());
  CountCaptures();
  if (mine.batch.samples >= largest_batch_) {
    largest_batch_ = mine.batch.samples;
    flops_ = launches_ = 0;
    for (const auto& replica : replicas_) {
      flops_ += replica->flops();
      launches_ += replica->launches();
    }
  }
  return {};
}

Status Trainer::Loop::FinishOldest() {
  Step& step = in_flight_.front();
  Ticks done = 0;
  {
    const recorder::WaitScope wait(trace::WaitCause::kDevice, QueueId::None());
    const pipeline::RangeScope range(options_.ranges, "wait for the device");
    for (const auto& event : step.done) {
      STALLSCOPE_RETURN_IF_ERROR(event->Wait());
      done = std::max(done, event->time());
    }
  }
  step.row.device_done_ns = static_cast<int64_t>(done);
  Account(step);
  feed_->Release(std::move(step.batch));
  spare_states_.push_back(std::move(step.states));
  in_flight_.pop_front();
  if (options_.on_progress) options_.on_progress(stats_.progress());
  return {};
}

void Trainer::Loop::Account(const Step& step) {
  StepStats::Learned learned;
  const bool computes = devices_.at(0).capabilities().computes;
  trace::Step row = step.row;
  if (computes) {
    for (const auto& state : step.states) {
      learned.loss += static_cast<double>(state->values()[device::kLoss]);
      learned.correct += static_cast<int64_t>(state->values()[device::kCorrect]);
    }
    learned.loss *= static_cast<double>(batches_per_update_);  // each is a share of the update's
    learned.skipped = step.states[0]->values()[device::kFinite] == 0;
    row.loss_scale_skipped = learned.skipped ? 1 : 0;
  }
  if (auto* track = recorder::CurrentTrack(); track != nullptr) track->Step(row);
  clock_map_.Add(ReadClockAnchor());
  const auto ns = [&](int64_t ticks) { return clock_map_.ToNs(static_cast<Ticks>(ticks)); };
  stats_.Add(step.batch.samples, ns(row.requested_ns), ns(row.received_ns), ns(row.device_done_ns),
             computes ? &learned : nullptr);
  // Not from its batch, which also waited for a delay.
  device_ns_ = ns(row.device_done_ns) - std::max(step.began_ns, device_done_ns_);
  device_done_ns_ = ns(row.device_done_ns);
}

// A device cannot be slowed, but it can be left idle between two steps for a share of the last
// step's time: the next one is issued after that. If steps overlap, its batch has been fetched and
// copied by then, as without the delay; issuing it comes later and is part of the delay.
Status Trainer::Loop::SlowTheDevice() {
  if (options_.slow_down == nullptr ||
      options_.slow_down->ModeOf(stage_) != pipeline::SlowDown::Mode::kSlow) {
    return {};
  }
  const int64_t asked_ns = MonotonicNs();
  while (!in_flight_.empty()) STALLSCOPE_RETURN_IF_ERROR(FinishOldest());
  if (device_done_ns_ > asked_ns) {
    debt_.sleep_ns -= issue_ns_;
    options_.slow_down->Delayed(stage_, issue_ns_);
  }
  options_.slow_down->Delay(stage_, device_ns_, 0, debt_);
  return {};
}

Result<std::optional<Ended>> Trainer::Loop::Next() {
  if (stop_.load()) return std::optional(Ended::kStopped);
  const auto most = static_cast<uint64_t>(spec_.trainer.steps);
  if (most != 0 && issued_ == most) return std::optional(Ended::kSteps);
  // Without overlap, the next batch's copy would hide a delay after it.
  const bool overlap = spec_.transfer.overlap;
  if (!overlap) STALLSCOPE_RETURN_IF_ERROR(SlowTheDevice());
  auto batch = feed_->Next();
  if (!batch.ok()) {
    if (stop_.load()) return std::optional(Ended::kStopped);
    return std::move(batch).error();
  }
  if (!batch.value()) return std::optional(Ended::kData);
  if (overlap) STALLSCOPE_RETURN_IF_ERROR(SlowTheDevice());
  STALLSCOPE_RETURN_IF_ERROR(Issue(std::move(*std::move(batch).value())));
  return std::optional<Ended>();
}

TrainResult Trainer::Loop::Finished(Ended ended) const {
  TrainResult result;
  result.last = stats_.progress();
  result.skipped_steps = stats_.skipped();
  result.ended = ended;
  switch (ended) {
    case Ended::kSteps:
      result.why = fmt::format("all {} steps are done", result.last.steps);
      break;
    case Ended::kData:
      result.why = fmt::format("the data ended after {} steps", result.last.steps);
      break;
    case Ended::kStopped:
      result.why = fmt::format("stopped after {} steps", result.last.steps);
  }
  result.updates = result.last.steps / batches_per_update_;
  if (const uint64_t rest = result.last.steps % batches_per_update_; rest > 0) {
    result.why += fmt::format(", the last {} without an update, which takes {} batches", rest,
                              batches_per_update_);
  }
  result.flops_per_step = flops_;
  result.launches_per_step = launches_;
  for (const auto& replica : replicas_) {
    result.captures += replica->captures();
    result.model_bytes = std::max(result.model_bytes, replica->model_bytes());
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    result.device_peak_bytes = std::max(result.device_peak_bytes, devices_.at(i).memory().peak);
  }
  return result;
}

Result<TrainResult> Trainer::Loop::Run() {
  DefineStage();
  const recorder::ThreadScope scope(options_.recorder, "trainer", stage_);
  STALLSCOPE_RETURN_IF_ERROR(Open());
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto ended, Next());
    const size_t allowed = ended ? 0 : in_flight_allowed_;
    while (in_flight_.size() > allowed) STALLSCOPE_RETURN_IF_ERROR(FinishOldest());
    if (ended) return Finished(*ended);
  }
}

Trainer::Trainer(const Spec& spec, Devices& devices, TrainerOptions options)
    : spec_(spec), devices_(devices), options_(std::move(options)) {}

Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::Make(const Spec& spec, Devices& devices,
                                               TrainerOptions options) {
  if (!options.next) {
    return Error{ErrorKind::kUsage, "the trainer has no source of batches", "trainer", ""};
  }
  return std::unique_ptr<Trainer>(new Trainer(spec, devices, std::move(options)));
}

Result<TrainResult> Trainer::Run() {
  return Guarded([this] {
    Loop loop(*this);
    return loop.Run();
  });
}

}  // namespace stallscope::trainer
