// NVIDIA's driver as far as one must know it before anything of CUDA is called: whether it is here,
// new enough, and has a device. Needs no toolkit to be built. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_DRIVER_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_DRIVER_H_

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::device::cuda {

struct Driver {
  int version = 0;  // of the newest CUDA that it speaks: 12040 is 12.4
  int devices = 0;  // at least 1
};

// kRun with what is missing: the driver, a newer one, a device, the right to use it. `needed`: the
// version of CUDA that the caller was built with; a driver of its major version will do.
Result<Driver> FindDriver(int needed, const std::string& library = "libcuda.so.1");

// "12.4"
std::string VersionName(int version);

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_DRIVER_H_
