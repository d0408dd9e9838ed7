// Matrix products by cuBLASLt, with the bias and the gelu in the same kernel where it has one.
//
// The library is looked up when a device is made: it is half a gigabyte and belongs to the
// machine's CUDA. The fastest kernel for a shape is chosen once, in Prepare(), outside any capture.
// Inside the module. Products belong to one stream and one thread at a time, with the device set.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

struct BlasLibrary {
  // Once per process; the error says which file is missing. Never unloaded.
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

class Products {
 public:
  Products(const BlasLibrary& library, cublasLtHandle_t handle)
      : library_(library), handle_(handle) {}
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // How much of a launch's work one call of the library does.
  enum class Part : uint8_t { kNothing, kProduct, kWithBias, kAll };
  // Of kGemm and kDense. kNothing: the library has no kernel for these types.
  Result<Part> Prepare(const Launch& launch);
  // Enqueues that part. For kDense's kProduct and kWithBias the result goes to the sum's place.
  Status Run(const Launch& launch, cudaStream_t stream);

  // Where kDense's sum of product and bias goes: before the gelu, if there is one.
  static const Operand& SumOf(const Launch& launch) {
    return launch.out[launch.kernel == Kernel::kDense && launch.ints[6] != 0 ? 1 : 0];
  }

 private:
  struct Plan {
    Part part = Part::kNothing;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t out = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    size_t workspace = 0;
  };
  using Key = std::vector<int64_t>;

  static Key KeyOf(const Launch& launch);
  struct Types {
    cudaDataType_t a;
    cudaDataType_t b;
    cudaDataType_t out;
  };
  Result<Plan> Make(const Launch& launch);
  Status Describe(const Launch& launch, const Types& types, Plan& plan) const;
  Status ChooseBest(const Launch& launch, Plan& plan);
  bool SetEpilogue(const Launch& launch, Part part, Plan& plan) const;
  // False: the library has none.
  Result<bool> Choose(const Launch& launch, Part part, Plan& plan);
  void Free(Plan& plan) const;
  Status Checked(cublasStatus_t status, const char* what) const;

  const BlasLibrary& library_;
  const cublasLtHandle_t handle_;
  std::map<Key, Plan> plans_;
  void* workspace_ = nullptr;
};

}  // namespace stallscope::device::cuda
