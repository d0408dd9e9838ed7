#include "collectors/device/emulated_stream.h"

#include <algorithm>
#include <utility>

#include "collectors/device/launch_graph.h"

namespace stallscope::device {

EmulatedStream::EmulatedStream(EmulatedDevice& device, const std::string& name,
                               trace::TrackKind kind)
    : device_(device), recorder_(device.options().recorder, name, kind, device.options().index) {}

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

// The host's time for a launch. A wait that ends late is made up for by the next ones: a thousand
// launches of 5 us take 5 ms, though no sleep is as short as one of them.
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
  // Of work that is done already the event has the time at which it was.
  const Ticks time = free_ == 0 ? device_.clock().Now() : free_;
  return std::shared_ptr<Event>(std::make_shared<EmulatedEvent>(device_.clock(), time));
}

Status EmulatedStream::Wait(const std::shared_ptr<Event>& event) {
  if (capturing_) return CaptureError("a wait inside a capture");
  free_ = std::max(free_, event->time());
  return {};
}

Status EmulatedStream::Synchronize() {
  if (capturing_) return CaptureError("a synchronisation inside a capture");
  device_.clock().WaitUntil(free_);
  overslept_ = 0;
  RecordDone(device_.clock().Now());
  return {};
}

Status EmulatedStream::BeginCapture() {
  if (capturing_) return CaptureError("a capture inside a capture");
  capturing_ = true;
  return {};
}

Result<std::shared_ptr<const Graph>> EmulatedStream::EndCapture() {
  if (!capturing_) return CaptureError("the end of a capture that has not begun");
  capturing_ = false;
  return std::shared_ptr<const Graph>(std::make_shared<LaunchGraph>(std::exchange(captured_, {})));
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
