#include "collectors/device/host_device.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "collectors/device/launch.h"

namespace stallscope::device {
namespace {

uint64_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

}  // namespace

Result<std::unique_ptr<Device>> HostDevice::Make(const Options& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(HostBlas* const blas, HostBlas::Load());
  return std::unique_ptr<Device>(new HostDevice(options, *blas));
}

HostDevice::HostDevice(const Options& options, HostBlas& blas)
    : options_(options),
      blas_(blas),
      memory_("host device", options.memory_bytes != 0 ? options.memory_bytes : MachineMemory()),
      pinned_(options.pinned ? options.pinned : std::make_shared<PinnedMemory>()) {
  capabilities_.kind = Kind::kHost;
  capabilities_.name = "host CPU";
  capabilities_.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : MachineMemory();
}

Result<Block> HostDevice::Allocate(size_t bytes) {
  STALLSCOPE_RETURN_IF_ERROR(memory_.Take(bytes));
  void* const block = AllocateAligned(bytes);
  if (block == nullptr) {
    memory_.GiveBack(bytes);
    return Error{ErrorKind::kRun,
                 "the machine cannot provide " + std::to_string(bytes) + " bytes for the device",
                 "host device", "make the batch or the model smaller"};
  }
  return Block(this, reinterpret_cast<Address>(block), bytes);
}

void HostDevice::Free(Address address, size_t bytes) noexcept {
  std::free(reinterpret_cast<void*>(address));
  memory_.GiveBack(bytes);
}

Result<std::unique_ptr<Stream>> HostDevice::NewStream(const std::string& name,
                                                      trace::TrackKind kind) {
  auto stream = std::make_unique<HostStream>(*this, name, kind);
  STALLSCOPE_RETURN_IF_ERROR(stream->Start(name));
  return std::unique_ptr<Stream>(std::move(stream));
}

bool HostEvent::Done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

Status HostEvent::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  happened_.wait(lock, [&] { return done_; });
  return device_.failure().status();
}

Ticks HostEvent::time() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

void HostEvent::Happen(Ticks time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  time_ = time;
  // Under the lock: a waiter may destroy the event as soon as it can take it.
  happened_.notify_all();
}

HostStream::HostStream(HostDevice& device, const std::string& name, trace::TrackKind kind)
    : RecordedStream(device.options(), name, kind), device_(device), kernels_(device.blas()) {}

Status HostStream::Start(const std::string& name) {
  return thread_.Start([this, name] { Loop(name); },
                       [this](Error error) { device_.failure().Set(std::move(error)); });
}

HostStream::~HostStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  more_.notify_one();
  thread_.Join();
}

Status HostStream::Enqueue(Work work) {
  STALLSCOPE_RETURN_IF_ERROR(device_.failure().status());
  work.enqueued = NowTicks();
  work.correlation = device_.NextCorrelation();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [&] { return queue_.size() < device_.options().queue_depth; });
    queue_.push_back(std::move(work));
  }
  more_.notify_one();
  return {};
}

Status HostStream::Copy(const CopyRequest& request) {
  if (capturing_) return CaptureError("a copy inside a capture");
  STALLSCOPE_RETURN_IF_ERROR(Enqueue({request, request.batch}));
  const bool inside = request.direction == trace::CopyDirection::kDeviceToDevice;
  if (inside || device_.IsPinned(request.host, request.bytes)) return {};
  return Synchronize();
}

Status HostStream::Run(const Launch& launch, ItemId batch) {
  STALLSCOPE_RETURN_IF_ERROR(CheckLaunch(launch));
  if (capturing_) {
    captured_.push_back(launch);
    return {};
  }
  return Enqueue({launch, batch});
}

Status HostStream::Run(const std::shared_ptr<const Graph>& graph, ItemId batch) {
  auto launches = std::dynamic_pointer_cast<const LaunchGraph>(graph);
  if (capturing_ || launches == nullptr) return CaptureError("a graph that cannot run here");
  return Enqueue({std::move(launches), batch});
}

Result<std::shared_ptr<Event>> HostStream::Record() {
  if (capturing_) return CaptureError("an event inside a capture");
  auto event = std::make_shared<HostEvent>(device_);
  STALLSCOPE_RETURN_IF_ERROR(Enqueue({Happening{event}, ItemId::None()}));
  return std::shared_ptr<Event>(std::move(event));
}

Status HostStream::Wait(const std::shared_ptr<Event>& event) {
  if (capturing_) return CaptureError("a wait inside a capture");
  auto ours = std::dynamic_pointer_cast<HostEvent>(event);
  if (ours == nullptr) return CaptureError("an event of a different kind of device");
  return Enqueue({WaitFor{std::move(ours)}, ItemId::None()});
}

Status HostStream::Synchronize() {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto event, Record());
  return event->Wait();
}

void HostStream::Loop(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  for (;;) {
    Work work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      more_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    room_.notify_one();
    // Scratch memory may run out. The thread continues: others wait for later work.
    Status done = Guarded([&]() -> Status {
      Do(work);
      return {};
    });
    if (!done.ok()) device_.failure().Set(std::move(done).error());
  }
}

void HostStream::Do(const Work& work) {
  if (const auto* event = std::get_if<Happening>(&work.what)) {
    event->event->Happen(NowTicks());
    return;
  }
  // Even if the device failed: later work must not overtake.
  if (const auto* wait = std::get_if<WaitFor>(&work.what)) {
    static_cast<void>(wait->event->Wait());
    return;
  }
  if (device_.failure().set()) return;
  if (const auto* copy = std::get_if<CopyRequest>(&work.what)) return DoCopy(work, *copy);
  if (const auto* launch = std::get_if<Launch>(&work.what)) return DoLaunch(work, *launch, 0);
  const auto& graph = std::get<std::shared_ptr<const LaunchGraph>>(work.what);
  for (const Launch& launch : graph->list()) {
    if (device_.failure().set()) return;
    DoLaunch(work, launch, graph->id());
  }
}

void HostStream::DoCopy(const Work& work, const CopyRequest& request) {
  using trace::CopyDirection;
  using trace::CopyMemory;
  Times times{work.enqueued, NowTicks(), 0};
  auto* device = reinterpret_cast<void*>(request.device);
  CopyMemory memory = CopyMemory::kUnknown;
  if (request.direction == CopyDirection::kDeviceToDevice) {
    std::memcpy(device, reinterpret_cast<const void*>(request.device_source), request.bytes);
  } else {
    memory =
        device_.IsPinned(request.host, request.bytes) ? CopyMemory::kPinned : CopyMemory::kPageable;
    const bool in = request.direction == CopyDirection::kHostToDevice;
    std::memcpy(in ? device : request.host, in ? request.host : device, request.bytes);
  }
  times.end = NowTicks();
  recorder_.Copy(request, memory, work.correlation, times);
}

void HostStream::DoLaunch(const Work& work, const Launch& launch, uint64_t graph) {
  Times times{work.enqueued, NowTicks(), 0};
  Status done = kernels_.Run(launch);
  times.end = NowTicks();
  recorder_.Kernel(launch.name(), work.batch, work.correlation, graph, times);
  if (!done.ok()) device_.failure().Set(std::move(done).error());
}

}  // namespace stallscope::device
