// Our own kernels on the device. Inside the module; any thread, with its device set.
#pragma once

#include <cuda_runtime_api.h>

#include "collectors/device/cuda/step_bodies.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

// Enqueues the launch as in kernel_calls.h. `scratch` has ScratchFloats(launch); `fault` is the
// device's address of host memory.
cudaError_t RunKernel(const Launch& launch, float* scratch, Fault* fault, cudaStream_t stream);

}  // namespace stallscope::device::cuda
