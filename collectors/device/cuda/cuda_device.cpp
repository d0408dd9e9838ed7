#include "collectors/device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "collectors/device/cuda/cuda_stream.h"
#include "collectors/device/cuda/driver.h"
#include "collectors/device/cuda/status.h"
#include "collectors/device/device_state.h"

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
  // A waiting thread sleeps: the pipeline needs the cores.
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
  float ms = 0;  // negative if the event was earlier
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
  // Sleep for long work, spin for nearly finished work: a sleep ends late by more than a short step
  // takes.
  constexpr double kAwakeNs = 20'000;
  const Ticks until = NowTicks() + static_cast<Ticks>(kAwakeNs * device_.ticks_per_ns());
  cudaError_t state = cudaEventQuery(event_);
  while (state == cudaErrorNotReady && NowTicks() < until) state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) state = cudaEventSynchronize(event_);
  return device_.Checked(state, "the work of the device");
}

Ticks CudaEvent::time() const {
  // It is done: no later than now, whatever the clocks say.
  const Ticks now = NowTicks();
  if (!device_.Use().ok()) return now;
  const auto time = device_.clock().TimeOf(event_);
  return time.ok() && time.value() < now ? time.value() : now;
}

Result<std::unique_ptr<Device>> CudaDevice::Make(const Options& options,
                                                 std::shared_ptr<DeviceTracks> tracks) {
  STALLSCOPE_ASSIGN_OR_RETURN(const Driver driver, FindDriver(CUDART_VERSION));
  std::unique_ptr<CudaDevice> made(new CudaDevice(options, std::move(tracks)));
  STALLSCOPE_RETURN_IF_ERROR(made->Open(driver.devices, driver.version));
  return std::unique_ptr<Device>(std::move(made));
}

Status CudaDevice::Open(int devices, int driver_version) {
  STALLSCOPE_ASSIGN_OR_RETURN(blas_, BlasLibrary::Find());
  ticks_per_ns_ = MachineClock().TicksPerNs();
  ordinal_ = static_cast<int>(options_.index % static_cast<uint32_t>(devices));
  // Before the device's context: CUPTI must see it from the start.
  if (tracks_ != nullptr) StartRecording();
  STALLSCOPE_RETURN_IF_ERROR(Use());
  cudaDeviceProp about{};
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaGetDeviceProperties(&about, ordinal_), "querying the device"));
  if (about.major < 8) {
    return Error{ErrorKind::kRun,
                 fmt::format("{} has compute capability {}.{}, and this build supports 8.0 and "
                             "newer",
                             about.name, about.major, about.minor),
                 "cuda", "use another device, or 'host'"};
  }
  capabilities_.kind = Kind::kCuda;
  capabilities_.name = about.name;
  capabilities_.memory_bytes =
      options_.memory_bytes != 0 ? options_.memory_bytes : about.totalGlobalMem;
  capabilities_.dense = true;
  capabilities_.image_kernels = true;
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, ordinal_) == cudaSuccess) {
    capabilities_.peaks = PeaksOf(about.major, about.minor, about.multiProcessorCount, kilohertz);
  }
  capabilities_.driver = "CUDA " + VersionName(driver_version);
  memory_ = std::make_unique<DeviceMemory>(fmt::format("cuda device {} ({})", ordinal_, about.name),
                                           capabilities_.memory_bytes);
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaFree(nullptr), "starting the device"));
  STALLSCOPE_RETURN_IF_ERROR(ReachOthers(devices));
  void* fault = nullptr;
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaHostAlloc(&fault, sizeof(Fault), cudaHostAllocMapped | cudaHostAllocPortable),
               "pinning memory"));
  host_fault_ = static_cast<Fault*>(fault);
  std::memset(fault, 0, sizeof(Fault));
  void* seen = nullptr;
  STALLSCOPE_RETURN_IF_ERROR(
      StatusOf(cudaHostGetDevicePointer(&seen, fault, 0), "mapping pinned memory"));
  device_fault_ = static_cast<Fault*>(seen);
  if (const auto status = blas_->create(&blas_handle_); status != CUBLAS_STATUS_SUCCESS) {
    return Error{ErrorKind::kRun,
                 fmt::format("cuBLASLt cannot be initialized: {}", blas_->words(status)), "cuda",
                 "check that the library matches the driver"};
  }
  clock_ = std::make_unique<EventClock>(ticks_per_ns_);
  return clock_->Start();
}

// The sum over replicas reads their gradients in place.
Status CudaDevice::ReachOthers(int devices) const {
  for (uint32_t index = 0; index < options_.index; ++index) {
    const int other = static_cast<int>(index % static_cast<uint32_t>(devices));
    if (other == ordinal_) continue;
    for (const auto& [from, to] : {std::pair(other, ordinal_), std::pair(ordinal_, other)}) {
      int can = 0;
      STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaDeviceCanAccessPeer(&can, from, to),
                                          "checking whether GPUs can reach each other"));
      if (can == 0) {
        return Error{ErrorKind::kRun,
                     fmt::format("GPU {} cannot read the memory of GPU {}", from, to), "cuda",
                     "use GPUs with a link between them, or strategy 'single'"};
      }
      STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaSetDevice(from), "selecting a device"));
      const cudaError_t reached = cudaDeviceEnablePeerAccess(to, 0);
      if (reached == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());  // otherwise the next call would return it
      } else {
        STALLSCOPE_RETURN_IF_ERROR(StatusOf(reached, "reaching another GPU's memory"));
      }
    }
  }
  return Use();
}

void CudaDevice::StartRecording() {
  if (options_.index > 0 && ordinal_ != static_cast<int>(options_.index)) {
    tracks_->Limit(fmt::format("device {} shares GPU {} with another", options_.index, ordinal_));
  }
  auto joined = ActivityCollector::Join(tracks_, ticks_per_ns_);
  if (joined.ok()) {
    collector_ = std::move(joined).value();
    return;
  }
  tracks_->Warn(joined.error().Line());
  tracks_->Limit(
      "device times come from the runtime's events, not from CUPTI: a captured graph is one "
      "kernel, a product and what follows it are another, and runtime calls are not shown");
}

CudaDevice::~CudaDevice() {
  static_cast<void>(Use());
  collector_.reset();  // work under way still reaches the trace
  clock_.reset();
  if (blas_handle_ != nullptr) blas_->destroy(blas_handle_);
  if (host_fault_ != nullptr) cudaFreeHost(host_fault_);
}

Status CudaDevice::Use() const { return StatusOf(cudaSetDevice(ordinal_), "selecting a device"); }

Status CudaDevice::failure() {
  // The device writes it while the host reads.
  const volatile Fault* fault = host_fault_;
  if (fault != nullptr && fault->is_set != 0) {
    const int32_t label = fault->label;
    const int64_t sample = fault->sample;
    const int64_t classes = fault->classes;
    Fail(BadLabel(label, sample, classes));
  }
  return failure_.status();
}

Status CudaDevice::Checked(cudaError_t code, const char* what) {
  if (code != cudaSuccess) Fail(ErrorOf(code, what));
  return failure();
}

Result<Block> CudaDevice::Allocate(size_t bytes) {
  STALLSCOPE_RETURN_IF_ERROR(Use());
  STALLSCOPE_RETURN_IF_ERROR(memory_->Take(bytes));
  void* block = nullptr;
  const cudaError_t code = cudaMalloc(&block, std::max<size_t>(bytes, 1));
  if (code == cudaSuccess) return Block(this, reinterpret_cast<Address>(block), bytes);
  memory_->GiveBack(bytes);
  if (code != cudaErrorMemoryAllocation) return ErrorOf(code, "allocating device memory");
  static_cast<void>(cudaGetLastError());  // the device stays usable
  size_t free = 0;
  size_t total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  return Error{ErrorKind::kRun,
               fmt::format("out of device memory: {} bytes requested, {} of {} in use, {} of them "
                           "by this run",
                           bytes, total - free, total, memory_->use().used),
               fmt::format("cuda device {} ({})", ordinal_, capabilities_.name),
               "make the batch or the model smaller, or prefetch fewer batches"};
}

void CudaDevice::Free(Address address, size_t bytes) noexcept {
  if (Use().ok()) cudaFree(reinterpret_cast<void*>(address));
  memory_->GiveBack(bytes);
}

uint8_t* CudaDevice::AllocatePinned(size_t bytes) noexcept {
  if (!Use().ok()) return nullptr;
  void* block = nullptr;
  // For all devices: replicas copy from the same batch.
  if (cudaHostAlloc(&block, std::max<size_t>(bytes, 1), cudaHostAllocPortable) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return static_cast<uint8_t*>(block);
}

void CudaDevice::FreePinned(uint8_t* block, size_t) noexcept {
  if (block != nullptr && Use().ok()) cudaFreeHost(block);
}

Result<std::unique_ptr<Stream>> CudaDevice::NewStream(const std::string& name,
                                                      trace::TrackKind kind) {
  return CudaStream::Make(*this, name, kind);
}

}  // namespace stallscope::device::cuda
