// cuBLASLt's calls, looked for when a device is made: it is half a gigabyte, and belongs to the
// machine's CUDA. Inside the module; any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_BLAS_LIBRARY_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_BLAS_LIBRARY_H_

#include <cublasLt.h>

#include <string>

#include "analyzer/base/result.h"

namespace stallscope::device::cuda {

struct BlasLibrary {
  // Once a process; the error says which file is missing. Never unloaded.
  static Result<const BlasLibrary*> Find();

  std::string name;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusString) words = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) new_product = nullptr;
  decltype(&cublasLtMatmulDescDestroy) free_product = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) new_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) free_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) new_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) free_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
};

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_BLAS_LIBRARY_H_
