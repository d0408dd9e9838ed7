// Events of the runtime, and their times on the run's clock. Inside the module; any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_EVENT_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_EVENT_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "collectors/device/device.h"

namespace stallscope::device::cuda {

class CudaDevice;

// Events that are used again: making one costs more than recording it. With the device set.
class EventPool {
 public:
  ~EventPool();
  Result<cudaEvent_t> Take();
  void Give(cudaEvent_t event);

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};

// When events happened. The runtime tells how far two events lie apart; one of them is recorded on
// an idle stream between two looks at our clock, and anew every second, because the device's clock
// drifts and the distance is a float. With the device set.
class EventClock {
 public:
  explicit EventClock(double ticks_per_ns) : ticks_per_ns_(ticks_per_ns) {}
  ~EventClock();
  Status Start();
  // Of an event that has happened.
  Result<Ticks> TimeOf(cudaEvent_t event);
  // Half the time in which the last anchor must have happened.
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

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUDA_EVENT_H_
