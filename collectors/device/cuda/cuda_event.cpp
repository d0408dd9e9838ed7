#include "collectors/device/cuda/cuda_event.h"

#include <cmath>
#include <limits>
#include <utility>

#include "collectors/device/cuda/cuda_device.h"
#include "collectors/device/cuda/status.h"

namespace stallscope::device::cuda {

EventPool::~EventPool() {
  for (cudaEvent_t event : idle_) cudaEventDestroy(event);
}

Result<cudaEvent_t> EventPool::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      cudaEvent_t event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  // A thread that waits sleeps: the pipeline needs the cores.
  cudaEvent_t event = nullptr;
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "making an event"));
  return event;
}

void EventPool::Give(cudaEvent_t event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(event);
}

EventClock::~EventClock() {
  if (base_ != nullptr) cudaEventDestroy(base_);
  if (next_ != nullptr) cudaEventDestroy(next_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Status EventClock::Start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"));
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaEventCreate(&base_), "making an event"));
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaEventCreate(&next_), "making an event"));
  return Anchor();
}

Status EventClock::Anchor() {
  constexpr int kTries = 5;
  Ticks shortest = std::numeric_limits<Ticks>::max();
  for (int i = 0; i < kTries; ++i) {
    const Ticks before = NowTicks();
    STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaEventRecord(next_, stream_), "recording an event"));
    STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaEventSynchronize(next_), "waiting for an event"));
    const Ticks after = NowTicks();
    if (after - before >= shortest) continue;
    shortest = after - before;
    base_time_ = before + shortest / 2;
    std::swap(base_, next_);
  }
  half_ = shortest / 2;
  return {};
}

Result<Ticks> EventClock::TimeOf(cudaEvent_t event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (static_cast<double>(NowTicks() - base_time_) > 1e9 * ticks_per_ns_) {
    STALLSCOPE_RETURN_IF_ERROR(Anchor());
  }
  float ms = 0;  // less than nothing where the event was before
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaEventElapsedTime(&ms, base_, event), "an event's time"));
  const double ticks = static_cast<double>(ms) * 1e6 * ticks_per_ns_;
  return static_cast<Ticks>(static_cast<int64_t>(base_time_) + std::llround(ticks));
}

double EventClock::ErrorNs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<double>(half_) / ticks_per_ns_;
}

CudaEvent::~CudaEvent() { device_.events().Give(event_); }

bool CudaEvent::Done() const {
  if (!device_.Use().ok()) return true;
  return cudaEventQuery(event_) != cudaErrorNotReady;
}

Status CudaEvent::Wait() {
  STALLSCOPE_RETURN_IF_ERROR(device_.Use());
  // Asleep for work that takes long, awake for what is nearly done: a sleep ends late by more than
  // a short step takes.
  constexpr double kAwakeNs = 20'000;
  const Ticks until = NowTicks() + static_cast<Ticks>(kAwakeNs * device_.ticks_per_ns());
  cudaError_t state = cudaEventQuery(event_);
  while (state == cudaErrorNotReady && NowTicks() < until) state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) state = cudaEventSynchronize(event_);
  return device_.Checked(state, "the work of the device");
}

Ticks CudaEvent::time() const {
  // It is done: no later than now, however the clocks lie.
  const Ticks now = NowTicks();
  if (!device_.Use().ok()) return now;
  const auto time = device_.clock().TimeOf(event_);
  return time.ok() && time.value() < now ? time.value() : now;
}

}  // namespace stallscope::device::cuda
