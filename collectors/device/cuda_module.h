// The module with all CUDA code: where it is, and what it exports.
//
// The program does not link CUDA and starts without it. The module is a separate file beside the
// program, loaded when a CUDA device is requested, and kept. It records through an interface
// (device_tracks.h). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device {

// A part of CUDA and whether it is present: the driver, a device, a library.
struct CudaPart {
  std::string name;  // "cuda driver"
  bool there = false;
  std::string detail;
  std::string advice;  // what to do if it is absent
};

// What the module's one symbol returns. Program and module exchange C++ types, so both must come
// from one build: `build` says which.
struct CudaModule {
  const char* build;
  Result<std::unique_ptr<Device>> (*make)(const Options& options,
                                          std::shared_ptr<DeviceTracks> tracks);
  std::vector<CudaPart> (*look)();
  // A range on the calling thread, for Nsight Systems; null if the toolkit had no NVTX.
  void (*begin_range)(const char* name);
  void (*end_range)();
};
extern const char* const kCudaModuleBuild;
// extern "C" const CudaModule* stallscope_cuda_module();
inline constexpr const char* kCudaModuleSymbol = "stallscope_cuda_module";

// Only $STALLSCOPE_CUDA_MODULE if it is set; else beside the program, then ../lib/stallscope.
std::vector<std::string> CudaModulePlaces();
// The first of `places` that exists; empty if none does.
std::string FindCudaModule(const std::vector<std::string>& places);
// kRun: no module, one that cannot be loaded, or one of another build.
Result<const CudaModule*> LoadCudaModule(const std::vector<std::string>& places);

}  // namespace stallscope::device
