// What CUPTI saw the device do, on the run's clock: kernels and copies on their streams' tracks,
// memsets, runtime and driver calls, waits, CUPTI's own overhead.
//
// CUPTI delivers its records late, unordered, on its own thread or the flushing one. Each piece of
// work gets a number when it is enqueued, which CUPTI returns beside its correlation ids; a record
// waits until both have arrived. A thread flushes every 20 ms, because a ring of the recorder holds
// some ten thousand kernels, and reads both clocks.
//
// One per process at a time, shared by the devices of a run; only it writes to the tracks that it
// is given. Any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "analyzer/base/result.h"
#include "collectors/device/cuda/record_sorter.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

class ActivityCollector {
 public:
  // The existing one, or a new one. kRun: no CUPTI in this build or on this machine, or it was
  // refused; STALLSCOPE_CUPTI=off refuses it too.
  static Result<std::shared_ptr<ActivityCollector>> Join(
      const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns);
  // Which CUPTI can be loaded; the error says why none can.
  static Result<std::string> Look();

  // Everything that has ended is in the tracks when it returns.
  virtual ~ActivityCollector() = default;
  // What the calling thread enqueues until End() belongs to `issued`. Returns its correlation.
  virtual uint64_t Begin(Issued issued) = 0;
  virtual void End() = 0;
};

}  // namespace stallscope::device::cuda
