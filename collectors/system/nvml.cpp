#include "collectors/system/nvml.h"

#include <dlfcn.h>

#include <cstring>

namespace stallscope::system {

template <class Function>
void Nvml::Bind(Function*& into, const char* symbol) {
  void* const found = dlsym(library_, symbol);
  static_assert(sizeof found == sizeof into);
  std::memcpy(&into, &found, sizeof found);  // ISO C++ has no cast from object to function
}

Result<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  const std::string hint = "install NVIDIA's driver, or in a container pass the device through";
  std::unique_ptr<Nvml> nvml(new Nvml());
  nvml->library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) {
    const char* const why = dlerror();
    return Error{ErrorKind::kRun, why != nullptr ? why : "cannot load the library", "", hint};
  }
  nvml->Bind(nvml->init_, "nvmlInit_v2");
  nvml->Bind(nvml->shutdown_, "nvmlShutdown");
  nvml->Bind(nvml->get_count_, "nvmlDeviceGetCount_v2");
  nvml->Bind(nvml->get_handle_, "nvmlDeviceGetHandleByIndex_v2");
  nvml->Bind(nvml->get_name_, "nvmlDeviceGetName");
  nvml->Bind(nvml->get_driver_version_, "nvmlSystemGetDriverVersion");
  nvml->Bind(nvml->words_, "nvmlErrorString");
  nvml->Bind(nvml->get_utilization, "nvmlDeviceGetUtilizationRates");
  nvml->Bind(nvml->get_memory, "nvmlDeviceGetMemoryInfo");
  nvml->Bind(nvml->get_clock, "nvmlDeviceGetClockInfo");
  nvml->Bind(nvml->get_power, "nvmlDeviceGetPowerUsage");
  nvml->Bind(nvml->get_pcie_rate, "nvmlDeviceGetPcieThroughput");
  if (nvml->init_ == nullptr || nvml->get_count_ == nullptr || nvml->get_handle_ == nullptr) {
    return Error{ErrorKind::kRun, "this is not NVML: nvmlInit_v2 or its like is missing", library,
                 "name NVIDIA's libnvidia-ml.so.1"};
  }
  if (const int code = nvml->init_(); code != kSuccess) {
    return Error{ErrorKind::kRun, "NVML does not start: " + nvml->Words(code), library, hint};
  }
  nvml->initialised_ = true;
  if (const int code = nvml->get_count_(&nvml->count_); code != kSuccess) {
    return Error{ErrorKind::kRun, "NVML does not count devices: " + nvml->Words(code), library,
                 hint};
  }
  return nvml;
}

Nvml::~Nvml() {
  if (initialised_ && shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

Result<Nvml::Device> Nvml::Open(unsigned index) const {
  Device device = nullptr;
  if (const int code = get_handle_(index, &device); code != kSuccess) {
    return Error{ErrorKind::kRun, Words(code), "gpu" + std::to_string(index),
                 "check the device with nvidia-smi"};
  }
  return device;
}

std::string Nvml::DriverVersion() const {
  char text[96] = "";
  if (get_driver_version_ == nullptr || get_driver_version_(text, sizeof text) != kSuccess) {
    return "";
  }
  return text;
}

std::string Nvml::Name(Device device) const {
  char text[96] = "";
  if (get_name_ == nullptr || get_name_(device, text, sizeof text) != kSuccess) return "";
  return text;
}

std::string Nvml::Words(int code) const {
  const char* const words = words_ == nullptr ? nullptr : words_(code);
  return words != nullptr ? words : "code " + std::to_string(code);
}

}  // namespace stallscope::system
