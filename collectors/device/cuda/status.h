// Errors from CUDA calls as the program reports them. Inside the module; any thread.
#pragma once

#include <cuda_runtime_api.h>

#include "analyzer/base/result.h"

namespace stallscope::device::cuda {

// `what`: "a copy", "launching a kernel".
Error ErrorOf(cudaError_t code, const std::string& what);

inline Status StatusOf(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  return ErrorOf(code, what);
}

}  // namespace stallscope::device::cuda
