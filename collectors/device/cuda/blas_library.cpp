#include "collectors/device/cuda/blas_library.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "collectors/device/cuda/library_places.h"
#include "collectors/device/shared_library.h"

namespace stallscope::device::cuda {
namespace {

Result<BlasLibrary> Load() {
  // cuBLASLt 12 is CUDA 12's, 13 is CUDA 13's.
  const std::string file = fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000);
  auto opened = SharedLibrary::Open(LibraryPlaces(file));
  const std::string hint =
      "install the CUDA toolkit's libraries, or name their folder in CUDA_HOME";
  if (!opened.ok()) {
    return Error{ErrorKind::kRun, "no cuBLASLt: " + opened.error().what, "cuda", hint};
  }
  const SharedLibrary& library = opened.value();
  BlasLibrary blas;
  blas.name = library.name();
  const bool whole = library.Bind(blas.create, "cublasLtCreate") &&
                     library.Bind(blas.destroy, "cublasLtDestroy") &&
                     library.Bind(blas.words, "cublasLtGetStatusString") &&
                     library.Bind(blas.version, "cublasLtGetVersion") &&
                     library.Bind(blas.matmul, "cublasLtMatmul") &&
                     library.Bind(blas.new_product, "cublasLtMatmulDescCreate") &&
                     library.Bind(blas.free_product, "cublasLtMatmulDescDestroy") &&
                     library.Bind(blas.set_product, "cublasLtMatmulDescSetAttribute") &&
                     library.Bind(blas.new_layout, "cublasLtMatrixLayoutCreate") &&
                     library.Bind(blas.free_layout, "cublasLtMatrixLayoutDestroy") &&
                     library.Bind(blas.new_preference, "cublasLtMatmulPreferenceCreate") &&
                     library.Bind(blas.free_preference, "cublasLtMatmulPreferenceDestroy") &&
                     library.Bind(blas.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                     library.Bind(blas.choose, "cublasLtMatmulAlgoGetHeuristic");
  if (!whole) {
    return Error{ErrorKind::kRun, "this is not cuBLASLt: cublasLtMatmul or its like is missing",
                 library.name(), hint};
  }
  return blas;
}

}  // namespace

Result<const BlasLibrary*> BlasLibrary::Find() {
  static const Result<BlasLibrary> library = Load();
  if (!library.ok()) return library.error();
  return &library.value();
}

}  // namespace stallscope::device::cuda
