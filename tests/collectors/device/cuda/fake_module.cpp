// A module of another build.
#include "collectors/device/cuda_module.h"

extern "C" const stallscope::device::CudaModule* stallscope_cuda_module() {
  static const stallscope::device::CudaModule module{"stallscope 0.0.0, interface 0", nullptr,
                                                     nullptr, nullptr, nullptr};
  return &module;
}
