#include "collectors/device/cuda/status.h"

#include <fmt/format.h>

namespace stallscope::device::cuda {
namespace {

const char* HintFor(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "make the batch or the model smaller, or prefetch fewer batches";
    case cudaErrorDevicesUnavailable:
      return "another process has exclusive use of the device: wait for it, or allow sharing "
             "(nvidia-smi -c)";
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
      return "check the driver with nvidia-smi";
    case cudaErrorNoKernelImageForDevice:
      return "this build supports only compute capability 8.0 and newer";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalAddress:
      return "the device is lost to this process; check the kernel log (dmesg) for an Xid";
    default:
      return "";
  }
}

}  // namespace

Error ErrorOf(cudaError_t code, const std::string& what) {
  return {ErrorKind::kRun,
          fmt::format("{} failed: {} ({})", what, cudaGetErrorString(code), cudaGetErrorName(code)),
          "cuda", HintFor(code)};
}

}  // namespace stallscope::device::cuda
