#include "collectors/device/cuda/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "collectors/device/shared_library.h"

namespace stallscope::device::cuda {
namespace {

// The driver's documented binary interface, in place of its header.
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;

struct Calls {
  int (*init)(unsigned) = nullptr;
  int (*get_version)(int*) = nullptr;
  int (*get_count)(int*) = nullptr;
  int (*get_words)(int, const char**) = nullptr;

  std::string Words(int code) const {
    const char* words = nullptr;
    if (get_words != nullptr && get_words(code, &words) == kSuccess && words != nullptr) {
      return fmt::format("{} (CUDA error {})", words, code);
    }
    return fmt::format("CUDA error {}", code);
  }
};

Error NoDevice(const Driver& driver) {
  return {ErrorKind::kRun,
          fmt::format("NVIDIA's driver (CUDA {}) has no devices", VersionName(driver.version)),
          "cuda", "pass a GPU into the container or machine, and check CUDA_VISIBLE_DEVICES"};
}

}  // namespace

std::string VersionName(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Result<Driver> FindDriver(int needed, const std::string& library) {
  auto opened = SharedLibrary::Open({library});
  if (!opened.ok()) {
    return Error{ErrorKind::kRun, "no NVIDIA driver: " + opened.error().what, "cuda",
                 "install NVIDIA's driver, or pass the device into the container"};
  }
  Calls calls;
  const SharedLibrary& loaded = opened.value();
  loaded.Bind(calls.get_words, "cuGetErrorString");
  if (!loaded.Bind(calls.init, "cuInit") || !loaded.Bind(calls.get_version, "cuDriverGetVersion") ||
      !loaded.Bind(calls.get_count, "cuDeviceGetCount")) {
    return Error{ErrorKind::kRun, "this is not NVIDIA's driver: cuInit or another call is missing",
                 library, "install NVIDIA's driver"};
  }
  Driver driver;
  if (const int code = calls.get_version(&driver.version); code != kSuccess) {
    return Error{ErrorKind::kRun,
                 "NVIDIA's driver does not report its version: " + calls.Words(code), "cuda",
                 "check the driver with nvidia-smi"};
  }
  if (driver.version / 1000 < needed / 1000) {
    return Error{
        ErrorKind::kRun,
        fmt::format("NVIDIA's driver is too old: it supports CUDA {}, and this build needs "
                    "{}",
                    VersionName(driver.version), VersionName(needed / 1000 * 1000)),
        "cuda", "update the driver, or build with an older CUDA toolkit"};
  }
  if (const int code = calls.init(0); code == kNoDevice) {
    return NoDevice(driver);
  } else if (code != kSuccess) {
    return Error{ErrorKind::kRun, "NVIDIA's driver cannot be initialized: " + calls.Words(code),
                 "cuda", "check the driver with nvidia-smi"};
  }
  if (const int code = calls.get_count(&driver.devices); code != kSuccess) {
    return Error{ErrorKind::kRun, "NVIDIA's driver cannot count devices: " + calls.Words(code),
                 "cuda", "check the driver with nvidia-smi"};
  }
  if (driver.devices < 1) return NoDevice(driver);
  return driver;
}

std::vector<std::string> LibraryPlaces(const std::string& file) {
  std::vector<std::string> roots;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != 0) {
    roots.emplace_back(home);
  }
  roots.emplace_back("/usr/local/cuda");
  std::vector<std::string> places = {file};
  for (const std::string& root : roots) {
    for (const char* folder : {"/lib64/", "/targets/x86_64-linux/lib/", "/extras/CUPTI/lib64/"}) {
      places.push_back(root + folder + file);
    }
  }
  return places;
}

PeakRates PeaksOf(int major, int minor, int multiprocessors, int kilohertz) {
  // Multiplications and additions per multiprocessor and cycle.
  PeakRates each;
  if (major == 8 && minor == 0) each = {128, 1024, 2048};
  if (major == 9 && minor == 0) each = {256, 2048, 4096};
  const uint64_t cycles = static_cast<uint64_t>(std::max(0, multiprocessors)) *
                          static_cast<uint64_t>(std::max(0, kilohertz)) * 1000;
  return {each.fp32 * cycles, each.tf32 * cycles, each.narrow * cycles};
}

}  // namespace stallscope::device::cuda
