#include "collectors/device/emulated_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace stallscope::device {
EmulatedDevice::EmulatedDevice(const Options& options)
    : options_(options),
      own_clock_(options.clock == nullptr ? std::make_unique<MachineClock>() : nullptr),
      clock_(options.clock == nullptr ? own_clock_.get() : options.clock),
      launch_ticks_(clock_->ToTicks(options.emulated.launch_us * 1e3)),
      memory_("emulated device", options.memory_bytes),
      pinned_(options.pinned ? options.pinned : std::make_shared<PinnedMemory>()) {
  capabilities_.kind = Kind::kEmulated;
  capabilities_.name =
      options.emulated_name.empty() ? "emulated" : "emulated: " + options.emulated_name;
  capabilities_.memory_bytes = options.memory_bytes;
  capabilities_.computes = false;
}

Result<Block> EmulatedDevice::Allocate(size_t bytes) {
  STALLSCOPE_RETURN_IF_ERROR(memory_.Take(bytes));
  // Unique addresses that are never read.
  const Address step = (bytes / 4096 + 1) * 4096;
  return Block(this, next_address_.fetch_add(step), bytes);
}

void EmulatedDevice::Free(Address, size_t bytes) noexcept { memory_.GiveBack(bytes); }

Result<std::unique_ptr<Stream>> EmulatedDevice::NewStream(const std::string& name,
                                                          trace::TrackKind kind) {
  return std::unique_ptr<Stream>(std::make_unique<EmulatedStream>(*this, name, kind));
}

EmulatedDevice::Slot EmulatedDevice::Reserve(Engine engine, Ticks earliest, Ticks duration) {
  if (engine == kNoEngine) return {earliest, earliest + duration};
  const std::lock_guard<std::mutex> lock(mutex_);
  Ticks& free = engine_free_[engine];
  const Ticks start = std::max(earliest, free);
  free = start + duration;
  return {start, free};
}

Ticks EmulatedDevice::CopyTicks(const CopyRequest& request, bool pinned) const {
  if (request.direction == trace::CopyDirection::kDeviceToDevice) return 0;
  const EmulatedTiming& timing = options_.emulated;
  // Bytes / (10^9 bytes/s) are nanoseconds.
  const double rate = pinned ? timing.gbps_pinned : timing.gbps_pageable;
  return clock_->ToTicks(timing.latency_us * 1e3 + static_cast<double>(request.bytes) / rate);
}

Ticks EmulatedDevice::KernelTicks(const Launch& launch) const {
  const EmulatedTiming& timing = options_.emulated;
  if (launch.kernel == Kernel::kAllReduce) {
    // A ring over the link: each replica sends and receives 2 (n - 1) / n of the gradients.
    const auto replicas = static_cast<double>(launch.in.size());
    const double bytes = launch.out.empty() ? 0 : static_cast<double>(launch.out[0].bytes());
    return clock_->ToTicks(timing.latency_us * 1e3 +
                           2 * (replicas - 1) / replicas * bytes / timing.gbps_pinned);
  }
  if (launch.kernel == Kernel::kImageOp || launch.kernel == Kernel::kCast) {
    // An op outside of a step moves every value once, and memory bounds it.
    double bytes = 0;
    for (const auto* operands : {&launch.in, &launch.out}) {
      for (const Operand& operand : *operands) bytes += static_cast<double>(operand.bytes());
    }
    if (launch.part.of == 0) return clock_->ToTicks(bytes / timing.op_gbps);
  }
  const StepPart& part = launch.part;
  if (part.of == 0) return 0;
  const double step = (timing.compute_us_per_batch +
                       timing.compute_us_per_sample * static_cast<double>(part.samples)) *
                      1e3 * clock_->TicksPerNs();
  // Both ends are rounded, not the difference: the parts of a step add up to it.
  const auto at = [&](uint64_t numerator) {
    return static_cast<Ticks>(
        std::llround(step * static_cast<double>(numerator) / static_cast<double>(part.of)));
  };
  return at(part.to) - at(part.from);
}

EmulatedStream::EmulatedStream(EmulatedDevice& device, const std::string& name,
                               trace::TrackKind kind)
    : RecordedStream(device.options(), name, kind), device_(device) {}

EmulatedStream::~EmulatedStream() {
  device_.clock().WaitUntil(free_);
  RecordDone(free_);
}

Status EmulatedStream::Copy(const CopyRequest& request) {
  if (capturing_) return CaptureError("a copy inside a capture");
  const Ticks now = device_.clock().Now();
  RecordDone(now);
  using trace::CopyDirection;
  const bool inside = request.direction == CopyDirection::kDeviceToDevice;
  const bool pinned = !inside && device_.IsPinned(request.host, request.bytes);
  const auto engine = inside ? EmulatedDevice::kNoEngine
                      : request.direction == CopyDirection::kHostToDevice
                          ? EmulatedDevice::kToDevice
                          : EmulatedDevice::kToHost;
  const auto slot =
      device_.Reserve(engine, std::max(now, free_), device_.CopyTicks(request, pinned));
  free_ = slot.end;
  Pending pending;
  pending.what = request;
  pending.memory = inside   ? trace::CopyMemory::kUnknown
                   : pinned ? trace::CopyMemory::kPinned
                            : trace::CopyMemory::kPageable;
  pending.correlation = device_.NextCorrelation();
  pending.times = {now, slot.start, slot.end};
  pending_.push_back(std::move(pending));
  if (!pinned && !inside) device_.clock().WaitUntil(slot.end);
  return {};
}

// The host's time for a launch. Later waits make up for one that ends late: a thousand launches of
// 5 us take 5 ms, though no sleep is that short.
Ticks EmulatedStream::ChargeLaunch() {
  DeviceClock& clock = device_.clock();
  const Ticks now = clock.Now();
  host_free_ = std::max(host_free_, now - std::min(overslept_, now)) + device_.LaunchTicks();
  overslept_ = now > host_free_ ? std::min(overslept_, now - host_free_) : 0;
  if (device_.LaunchTicks() != 0 && host_free_ > now) {
    clock.WaitUntil(host_free_);
    overslept_ = clock.Now() - host_free_;
  }
  return host_free_;
}

void EmulatedStream::WaitForRoom() {
  DeviceClock& clock = device_.clock();
  const Ticks now = clock.Now();
  while (!launches_.empty() && launches_.front() <= now) launches_.pop_front();
  if (launches_.size() >= device_.options().queue_depth) {
    clock.WaitUntil(launches_.front());
    launches_.pop_front();
  }
  RecordDone(clock.Now());
}

void EmulatedStream::Enqueue(const Launch& launch, ItemId batch, uint64_t correlation,
                             uint64_t graph, Ticks enqueued) {
  const auto engine =
      launch.kernel == Kernel::kAllReduce ? EmulatedDevice::kNoEngine : EmulatedDevice::kCompute;
  const auto slot = device_.Reserve(engine, std::max(enqueued, free_), device_.KernelTicks(launch));
  free_ = slot.end;
  Pending pending;
  pending.what = std::string(launch.name());
  pending.batch = batch;
  pending.correlation = correlation;
  pending.graph = graph;
  pending.times = {enqueued, slot.start, slot.end};
  pending_.push_back(std::move(pending));
}

Status EmulatedStream::Run(const Launch& launch, ItemId batch) {
  if (capturing_) {
    captured_.push_back(launch);
    return {};
  }
  WaitForRoom();
  Enqueue(launch, batch, device_.NextCorrelation(), 0, ChargeLaunch());
  launches_.push_back(free_);
  return {};
}

Status EmulatedStream::Run(const std::shared_ptr<const Graph>& graph, ItemId batch) {
  const auto* launches = dynamic_cast<const LaunchGraph*>(graph.get());
  if (capturing_ || launches == nullptr) return CaptureError("a graph that cannot run here");
  WaitForRoom();
  const Ticks enqueued = ChargeLaunch();
  const uint64_t correlation = device_.NextCorrelation();
  for (const Launch& launch : launches->list()) {
    Enqueue(launch, batch, correlation, graph->id(), enqueued);
  }
  launches_.push_back(free_);
  return {};
}

Result<std::shared_ptr<Event>> EmulatedStream::Record() {
  if (capturing_) return CaptureError("an event inside a capture");
  // For finished work the event has the time at which it finished.
  const Ticks time = free_ == 0 ? device_.clock().Now() : free_;
  return std::shared_ptr<Event>(std::make_shared<EmulatedEvent>(device_.clock(), time));
}

Status EmulatedStream::Wait(const std::shared_ptr<Event>& event) {
  if (capturing_) return CaptureError("a wait inside a capture");
  free_ = std::max(free_, event->time());
  return {};
}

Status EmulatedStream::Synchronize() {
  if (capturing_) return CaptureError("a synchronization inside a capture");
  device_.clock().WaitUntil(free_);
  overslept_ = 0;
  RecordDone(device_.clock().Now());
  return {};
}

void EmulatedStream::RecordDone(Ticks now) {
  for (; !pending_.empty() && pending_.front().times.end <= now; pending_.pop_front()) {
    const Pending& p = pending_.front();
    if (const auto* copy = std::get_if<CopyRequest>(&p.what)) {
      recorder_.Copy(*copy, p.memory, p.correlation, p.times);
    } else {
      recorder_.Kernel(std::get<std::string>(p.what), p.batch, p.correlation, p.graph, p.times);
    }
  }
}

}  // namespace stallscope::device
