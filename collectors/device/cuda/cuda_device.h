// A GPU through the CUDA runtime. Inside the module.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_DEVICE_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_DEVICE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "collectors/device/cuda/activity_collector.h"
#include "collectors/device/cuda/blas_library.h"
#include "collectors/device/cuda/cuda_event.h"
#include "collectors/device/cuda/step_bodies.h"
#include "collectors/device/device.h"
#include "collectors/device/device_memory.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

class CudaDevice : public Device {
 public:
  // kRun: no driver, an old one, no device, no cuBLASLt, a device that is taken. Several devices of
  // a run lie on as many GPUs as there are, in turn.
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
  // An error of CUDA's, or one that a kernel has found, makes the device fail. The first stays.
  Status Checked(cudaError_t code, const char* what);
  Status failure();
  void Fail(Error error);

  EventPool& events() { return events_; }
  EventClock& clock() { return *clock_; }
  double ticks_per_ns() const { return ticks_per_ns_; }
  cublasLtHandle_t blas_handle() const { return blas_handle_; }
  const BlasLibrary& blas() const { return *blas_; }
  // Of the device; null where nothing is recorded.
  DeviceTracks* tracks() const { return tracks_.get(); }
  // Null where nothing is recorded, or CUPTI is not to be had.
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
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> failure_;
};

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_DEVICE_H_
