// The module that holds everything of CUDA: where it is looked for, and what it gives.
//
// The program links nothing of CUDA and starts without it. The module is a file of its own beside
// the program, loaded when somebody asks for a CUDA device and then kept. It gets what it records
// with as an interface (device_tracks.h). Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_MODULE_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device {

// What of CUDA is here: the driver, each device, each library.
struct CudaPart {
  std::string name;  // "cuda driver"
  bool there = false;
  std::string detail;
  std::string advice;  // what to do where it is not
};

// What the module's one symbol leads to. Program and module exchange C++ types, so both must come
// from one build: `build` says which.
struct CudaModule {
  const char* build;
  Result<std::unique_ptr<Device>> (*make)(const Options& options,
                                          std::shared_ptr<DeviceTracks> tracks);
  std::vector<CudaPart> (*look)();
  // A range on the calling thread, for Nsight Systems; null where the toolkit had no NVTX.
  void (*begin_range)(const char* name);
  void (*end_range)();
};
extern const char* const kCudaModuleBuild;
// extern "C" const CudaModule* stallscope_cuda_module();
inline constexpr const char* kCudaModuleSymbol = "stallscope_cuda_module";

// $STALLSCOPE_CUDA_MODULE alone, where it is set; else beside the program, then in
// ../lib/stallscope.
std::vector<std::string> CudaModulePlaces();
// The first of `places` that is there; empty where none is.
std::string FindCudaModule(const std::vector<std::string>& places);
// kRun: no module, one that cannot be loaded, or one of another build.
Result<const CudaModule*> LoadCudaModule(const std::vector<std::string>& places);

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_MODULE_H_
