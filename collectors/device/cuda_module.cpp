#include "collectors/device/cuda_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "analyzer/base/program.h"
#include "collectors/device/shared_library.h"

namespace stallscope::device {
namespace {

constexpr const char* kFile = "stallscope_cuda.so";

}  // namespace

// Program and module each have a copy, which differs between builds. Raise the number when the
// interface changes within a version.
const char* const kCudaModuleBuild = "stallscope " STALLSCOPE_VERSION ", interface 3";

std::vector<std::string> CudaModulePlaces() {
  if (const char* named = std::getenv("STALLSCOPE_CUDA_MODULE"); named != nullptr) return {named};
  const std::filesystem::path folder = ProgramFolder();
  if (folder.empty()) return {kFile};
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
    return Error{ErrorKind::kRun, "the CUDA module is missing",
                 fmt::format("{}", fmt::join(places, ", ")),
                 "build with the CUDA toolkit installed, or use the device 'host', or 'emulated' "
                 "with a GPU's figures"};
  }
  auto library = SharedLibrary::Open({path});
  if (!library.ok()) {
    return Error{ErrorKind::kRun, "the CUDA module cannot be loaded: " + library.error().what, path,
                 "reinstall it together with the program"};
  }
  const CudaModule* (*entry)() = nullptr;
  if (!library.value().Bind(entry, kCudaModuleSymbol)) {
    return Error{ErrorKind::kRun, "this is not a stallscope CUDA module", path,
                 "set STALLSCOPE_CUDA_MODULE to another, or unset it"};
  }
  const CudaModule* const module = entry();
  if (std::strcmp(module->build, kCudaModuleBuild) != 0) {
    return Error{
        ErrorKind::kRun,
        fmt::format("the module is from {}, the program from {}", module->build, kCudaModuleBuild),
        path, "install both from the same build"};
  }
  return module;
}

}  // namespace stallscope::device
