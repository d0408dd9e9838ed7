// What CUPTI saw the device do, on the run's clock: kernels and copies on their streams' tracks,
// memsets, calls of the runtime and the driver, waits, CUPTI's own overhead.
//
// CUPTI gives its records late, in no order, on a thread of its own or on that of who flushes. Each
// piece of work gets a number when it is enqueued, which comes back beside CUPTI's correlation ids;
// a record waits until both have come. A thread flushes every 20 ms, because a ring of the recorder
// holds some ten thousand kernels, and reads both clocks.
//
// One at a time in a process, shared by the devices of a run; the tracks that it is given are
// written by it alone. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_ACTIVITY_COLLECTOR_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_ACTIVITY_COLLECTOR_H_

#include <cstdint>
#include <memory>

#include "analyzer/base/result.h"
#include "collectors/device/cuda/record_sorter.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

class ActivityCollector {
 public:
  // The one that is there, or a new one. kRun: no CUPTI in this build or on this machine, or it was
  // refused; STALLSCOPE_CUPTI=off is a refusal too.
  static Result<std::shared_ptr<ActivityCollector>> Join(
      const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns);
  // Whether CUPTI can be loaded, and which; the error says why not.
  static Result<std::string> Look();

  // Everything that has ended is in the tracks when it returns.
  virtual ~ActivityCollector() = default;
  // What the calling thread enqueues until End() belongs to this. The number is its correlation.
  virtual uint64_t Begin(Issued issued) = 0;
  virtual void End() = 0;
};

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_ACTIVITY_COLLECTOR_H_
