#include "collectors/device/cuda/peaks.h"

#include <algorithm>

namespace stallscope::device::cuda {

PeakRates PeaksOf(int major, int minor, int multiprocessors, int kilohertz) {
  // Multiplications and additions of one multiprocessor in one cycle.
  PeakRates each;
  if (major == 8 && minor == 0) each = {128, 1024, 2048};
  if (major == 9 && minor == 0) each = {256, 2048, 4096};
  const uint64_t cycles = static_cast<uint64_t>(std::max(0, multiprocessors)) *
                          static_cast<uint64_t>(std::max(0, kilohertz)) * 1000;
  return {each.fp32 * cycles, each.tf32 * cycles, each.narrow * cycles};
}

}  // namespace stallscope::device::cuda
