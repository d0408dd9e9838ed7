// A GPU through the CUDA runtime, and the runtime's events with their times on the run's clock.
// Inside the module; any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectors/device/cuda/activity_collector.h"
#include "collectors/device/cuda/products.h"
#include "collectors/device/cuda/step_bodies.h"
#include "collectors/device/device.h"
#include "collectors/device/device_state.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

class CudaDevice;

// Reuses events: creating one costs more than recording it. With the device set.
class EventPool {
 public:
  ~EventPool();
  Result<cudaEvent_t> Take();
  void Give(cudaEvent_t event);

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};

// When events happened. The runtime reports the time between two events; one of them is recorded on
// an idle stream between two readings of our clock, and again every second, because the device's
// clock drifts and the time is a float. With the device set.
class EventClock {
 public:
  explicit EventClock(double ticks_per_ns) : ticks_per_ns_(ticks_per_ns) {}
  ~EventClock();
  Status Start();
  // For an event that has happened.
  Result<Ticks> TimeOf(cudaEvent_t event);
  // Half the interval in which the last anchor must have happened.
  double ErrorNs() const;

 private:
  Status Anchor();

  const double ticks_per_ns_;
  mutable std::mutex mutex_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t base_ = nullptr;
  cudaEvent_t next_ = nullptr;
  Ticks base_time_ = 0;
  Ticks half_ = 0;
};

class CudaEvent : public Event {
 public:
  CudaEvent(CudaDevice& device, cudaEvent_t event) : device_(device), event_(event) {}
  ~CudaEvent() override;
  bool Done() const override;
  Status Wait() override;
  Ticks time() const override;
  cudaEvent_t handle() const { return event_; }

 private:
  CudaDevice& device_;
  const cudaEvent_t event_;
};

class CudaDevice : public Device {
 public:
  // kRun: no driver, an old one, no device, no cuBLASLt, a device in exclusive use. The devices of
  // a run take the GPUs in turn.
  static Result<std::unique_ptr<Device>> Make(const Options& options,
                                              std::shared_ptr<DeviceTracks> tracks);
  ~CudaDevice() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  Result<Block> Allocate(size_t bytes) override;
  MemoryUse memory() const override { return memory_->use(); }
  uint8_t* AllocatePinned(size_t bytes) noexcept override;
  void FreePinned(uint8_t* block, size_t bytes) noexcept override;
  Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                            trace::TrackKind kind) override;

  // --- For streams and events ---

  // Makes it the calling thread's device, which CUDA keeps for each thread.
  Status Use() const;
  // An error from CUDA, or one that a kernel found, makes the device fail. The first one stays.
  Status Checked(cudaError_t code, const char* what);
  Status failure();
  void Fail(Error error) { failure_.Set(std::move(error)); }

  EventPool& events() { return events_; }
  EventClock& clock() { return *clock_; }
  double ticks_per_ns() const { return ticks_per_ns_; }
  cublasLtHandle_t blas_handle() const { return blas_handle_; }
  const BlasLibrary& blas() const { return *blas_; }
  // Null if nothing is recorded.
  DeviceTracks* tracks() const { return tracks_.get(); }
  // Null if nothing is recorded, or CUPTI is unavailable.
  ActivityCollector* collector() const { return collector_.get(); }
  Fault* fault() const { return device_fault_; }
  uint64_t NextCorrelation() { return correlation_.fetch_add(1) + 1; }
  const Options& options() const { return options_; }

 private:
  CudaDevice(const Options& options, std::shared_ptr<DeviceTracks> tracks)
      : options_(options), tracks_(std::move(tracks)) {}
  Status Open(int devices, int driver_version);
  Status ReachOthers(int devices) const;
  void StartRecording();
  void Free(Address address, size_t bytes) noexcept override;

  const Options options_;
  const std::shared_ptr<DeviceTracks> tracks_;
  int ordinal_ = 0;
  Capabilities capabilities_;
  double ticks_per_ns_ = 1;
  std::unique_ptr<DeviceMemory> memory_;
  const BlasLibrary* blas_ = nullptr;
  cublasLtHandle_t blas_handle_ = nullptr;
  EventPool events_;
  std::unique_ptr<EventClock> clock_;
  std::shared_ptr<ActivityCollector> collector_;
  Fault* host_fault_ = nullptr;
  Fault* device_fault_ = nullptr;
  std::atomic<uint64_t> correlation_{0};
  DeviceFailure failure_;
};

}  // namespace stallscope::device::cuda
