// The module's one symbol.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "collectors/device/cuda/activity_collector.h"
#include "collectors/device/cuda/cuda_device.h"
#include "collectors/device/cuda/driver.h"
#include "collectors/device/cuda/nvtx.h"
#include "collectors/device/cuda/products.h"
#include "collectors/device/cuda_module.h"

namespace stallscope::device::cuda {
namespace {

CudaPart Missing(const std::string& name, const Error& error) {
  return {name, false, error.what, error.hint};
}

CudaPart LookAtDevice(int ordinal) {
  const std::string name = fmt::format("cuda device {}", ordinal);
  cudaDeviceProp about{};
  if (const cudaError_t code = cudaGetDeviceProperties(&about, ordinal); code != cudaSuccess) {
    return {name, false, cudaGetErrorString(code), "check the device with nvidia-smi"};
  }
  CudaPart part{
      name, about.major >= 8,
      fmt::format("{}, compute capability {}.{}, {} multiprocessors, {} MiB", about.name,
                  about.major, about.minor, about.multiProcessorCount, about.totalGlobalMem >> 20),
      ""};
  if (!part.there) part.advice = "this build supports compute capability 8.0 and newer";
  return part;
}

std::vector<CudaPart> Look() {
  std::vector<CudaPart> parts;
  const auto driver = FindDriver(CUDART_VERSION);
  if (driver.ok()) {
    parts.push_back(
        {"cuda driver", true,
         fmt::format("CUDA {}, {} devices; built with CUDA {}", VersionName(driver.value().version),
                     driver.value().devices, VersionName(CUDART_VERSION)),
         ""});
    for (int i = 0; i < driver.value().devices; ++i) parts.push_back(LookAtDevice(i));
  } else {
    parts.push_back(Missing("cuda driver", driver.error()));
  }
  if (const auto blas = BlasLibrary::Find(); blas.ok()) {
    parts.push_back({"cublaslt", true,
                     fmt::format("{}, version {}", blas.value()->name, blas.value()->version()),
                     ""});
  } else {
    parts.push_back(Missing("cublaslt", blas.error()));
  }
  if (const auto cupti = ActivityCollector::Look(); cupti.ok()) {
    parts.push_back({"cupti", true, cupti.value(), ""});
  } else {
    parts.push_back(Missing("cupti", cupti.error()));
  }
  return parts;
}

// Exceptions end here: they must not cross a module boundary.
Result<std::unique_ptr<Device>> Make(const Options& options, std::shared_ptr<DeviceTracks> tracks) {
  try {
    return CudaDevice::Make(options, std::move(tracks));
  } catch (const std::exception& error) {
    return Error{ErrorKind::kRun, error.what(), "cuda", ""};
  }
}

}  // namespace
}  // namespace stallscope::device::cuda

extern "C" __attribute__((visibility("default"))) const stallscope::device::CudaModule*
stallscope_cuda_module() {
  using namespace stallscope::device;
  static const CudaModule module{kCudaModuleBuild, cuda::Make, cuda::Look, cuda::BeginRange,
                                 cuda::EndRange};
  return &module;
}
