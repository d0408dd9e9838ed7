// Puts launches on a stream: products by the library, the rest by our own kernels. Inside the
// module; one stream's, one thread at a time, with the device set.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "collectors/device/cuda/products.h"
#include "collectors/device/cuda/step_bodies.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

class Launcher {
 public:
  Launcher(const BlasLibrary& blas, cublasLtHandle_t handle, Fault* fault)
      : products_(blas, handle), fault_(fault) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Everything that must not happen inside a capture: allocates scratch memory, chooses kernels.
  // The launch must have been checked, and is no image op.
  Status Prepare(const Launch& launch);
  // Enqueues a launch that was prepared.
  Status Run(const Launch& launch, cudaStream_t stream);

 private:
  Status RunDense(const Launch& launch, Products::Part done, cudaStream_t stream);

  Products products_;
  Fault* const fault_;
  // The last is the largest. Graphs keep using the one that they were captured with.
  std::vector<float*> scratch_;
  int64_t scratch_floats_ = 0;
};

}  // namespace stallscope::device::cuda
