// The collector over a given CUPTI: the machine's, or what a test puts in its place.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_COLLECTOR_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_COLLECTOR_H_

#include <memory>

#include "collectors/device/cuda/activity_collector.h"
#include "collectors/device/cuda/cupti_library.h"

namespace stallscope::device::cuda {

// kRun where CUPTI refuses. `cupti` must outlive it; one at a time.
Result<std::shared_ptr<ActivityCollector>> StartCollector(
    const CuptiLibrary& cupti, const std::shared_ptr<DeviceTracks>& tracks, double ticks_per_ns);

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_CUPTI_COLLECTOR_H_
