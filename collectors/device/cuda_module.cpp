#include "collectors/device/cuda_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "collectors/device/shared_library.h"

namespace stallscope::device {
namespace {

constexpr const char* kFile = "stallscope_cuda.so";

}  // namespace

// Program and module each have one of these: compiled in another build it says something else.
// Raise the number where what the two exchange changes within a version.
const char* const kCudaModuleBuild = "stallscope " STALLSCOPE_VERSION ", interface 3";

std::vector<std::string> CudaModulePlaces() {
  if (const char* named = std::getenv("STALLSCOPE_CUDA_MODULE"); named != nullptr) return {named};
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {kFile};
  const auto folder = program.parent_path();
  return {folder / kFile, folder.parent_path() / "lib" / "stallscope" / kFile};
}

std::string FindCudaModule(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (access(place.c_str(), R_OK) == 0) return place;
  }
  return "";
}

Result<const CudaModule*> LoadCudaModule(const std::vector<std::string>& places) {
  const std::string path = FindCudaModule(places);
  if (path.empty()) {
    return Error{ErrorKind::kRun, "the module for CUDA devices is missing",
                 fmt::format("{}", fmt::join(places, ", ")),
                 "build where the CUDA toolkit is, or take the device 'host', or 'emulated' with "
                 "the figures of a GPU"};
  }
  auto library = SharedLibrary::Open({path});
  if (!library.ok()) {
    return Error{ErrorKind::kRun,
                 "the module for CUDA devices cannot be loaded: " + library.error().what, path,
                 "install it again, with the program"};
  }
  const CudaModule* (*entry)() = nullptr;
  if (!library.value().Bind(entry, kCudaModuleSymbol)) {
    return Error{ErrorKind::kRun, "this is no module for CUDA devices", path,
                 "name another in STALLSCOPE_CUDA_MODULE, or unset it"};
  }
  const CudaModule* const module = entry();
  if (std::strcmp(module->build, kCudaModuleBuild) != 0) {
    return Error{
        ErrorKind::kRun,
        fmt::format("the module is of {}, and the program of {}", module->build, kCudaModuleBuild),
        path, "install both from one build"};
  }
  return module;
}

}  // namespace stallscope::device
