// What a GPU could do at the most. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_PEAKS_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_PEAKS_H_

#include <cstdint>

#include "collectors/device/device.h"

namespace stallscope::device::cuda {

// At its highest clock, dense, summed in float32; all 0 for a generation whose figures are not
// known here. What a multiprocessor does in a cycle is from NVIDIA's papers on the A100 (2020) and
// the H100 (2022).
PeakRates PeaksOf(int major, int minor, int multiprocessors, int kilohertz);

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_PEAKS_H_
