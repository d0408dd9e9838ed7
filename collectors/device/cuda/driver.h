// What must be known before any CUDA call: whether NVIDIA's driver is here, new enough, and has a
// device; where the toolkit's libraries are; what a GPU can do at most. Builds without the toolkit.
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/device/device.h"

namespace stallscope::device::cuda {

struct Driver {
  int version = 0;  // of the newest CUDA that it supports: 12040 is 12.4
  int devices = 0;  // at least 1
};

// kRun with what is missing: the driver, a newer one, a device, the right to use it. `needed`: the
// version of CUDA that the caller was built with; a driver of its major version will do.
Result<Driver> FindDriver(int needed, const std::string& library = "libcuda.so.1");

// "12.4"
std::string VersionName(int version);

// For "libcupti.so.13": the loader's own search, then $CUDA_HOME and the toolkit's usual folders,
// which most installations do not configure for the loader.
std::vector<std::string> LibraryPlaces(const std::string& file);

// At its highest clock, dense, summed in float32; all 0 for a generation whose figures are unknown
// here. Operations per multiprocessor and cycle are from NVIDIA's papers on the A100 (2020) and the
// H100 (2022).
PeakRates PeaksOf(int major, int minor, int multiprocessors, int kilohertz);

}  // namespace stallscope::device::cuda
