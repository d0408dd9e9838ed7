#include "collectors/system/gpus.h"

#include <dlfcn.h>

#include <cstring>

#include "analyzer/base/units.h"

namespace stallscope::system {
namespace {

struct Gpu {
  Gpu(Nvml::Device handle, const std::string& number)
      : device(handle),
        utilization(Row("gpu<n>.utilization"), number),
        memory(Row("gpu<n>.memory"), number),
        clock(Row("gpu<n>.sm_clock"), number),
        power(Row("gpu<n>.power"), number),
        pcie_rx(Row("gpu<n>.pcie_rx"), number),
        pcie_tx(Row("gpu<n>.pcie_tx"), number) {}

  Nvml::Device device;
  Counter utilization, memory, clock, power, pcie_rx, pcie_tx;
};

class Gpus : public Source {
 public:
  explicit Gpus(const std::string& library) : Source("gpu", 100 * kNsPerMs) {
    auto loaded = Nvml::Load(library);
    if (!loaded.ok()) {
      MissEverything(loaded.error().what);
      return;
    }
    nvml_ = std::move(loaded).value();
    std::string reason = "NVML found no devices";
    for (unsigned index = 0; index < nvml_->count(); ++index) {
      auto device = nvml_->Open(index);
      if (device.ok()) {
        gpus_.emplace_back(device.value(), std::to_string(index));
      } else {
        reason = device.error().Line();
      }
    }
    if (gpus_.empty()) MissEverything(reason);
  }

  void Read(CounterSink& sink, Effort effort) override {
    for (Gpu& gpu : gpus_) ReadQuick(sink, gpu);
    if (gpus_.empty()) return;
    if (effort == Effort::kComplete) {
      for (Gpu& gpu : gpus_) {
        ReadPcie(sink, gpu, Nvml::kPcieRx);
        ReadPcie(sink, gpu, Nvml::kPcieTx);
      }
      return;
    }
    // Each of these blocks for 20 ms: one per reading, in turn.
    Gpu& gpu = gpus_[turn_ / 2 % gpus_.size()];
    ReadPcie(sink, gpu, turn_ % 2 == 0 ? Nvml::kPcieRx : Nvml::kPcieTx);
    ++turn_;
  }

 private:
  void ReadQuick(CounterSink& sink, Gpu& gpu) {
    Nvml::Utilization utilization{};
    if (Works(gpu.utilization, nvml_->get_utilization, gpu.device, &utilization)) {
      gpu.utilization.Put(sink, uint64_t{utilization.gpu});
    }
    Nvml::Memory memory{};
    if (Works(gpu.memory, nvml_->get_memory, gpu.device, &memory)) {
      gpu.memory.Put(sink, uint64_t{memory.used});
    }
    unsigned value = 0;
    if (Works(gpu.clock, nvml_->get_clock, gpu.device, Nvml::kSmClock, &value)) {
      gpu.clock.Put(sink, uint64_t{value});
    }
    if (Works(gpu.power, nvml_->get_power, gpu.device, &value)) {
      gpu.power.Put(sink, value / 1000.0);
    }
  }

  void ReadPcie(CounterSink& sink, Gpu& gpu, int direction) {
    Counter& counter = direction == Nvml::kPcieRx ? gpu.pcie_rx : gpu.pcie_tx;
    unsigned kilobytes = 0;
    if (Works(counter, nvml_->get_pcie_rate, gpu.device, direction, &kilobytes)) {
      counter.Put(sink, uint64_t{kilobytes} * 1000);
    }
  }

  // Calls `function`, and keeps the reason where it is missing or fails.
  template <class Function, class... Arguments>
  bool Works(const Counter& counter, Function* function, Arguments... arguments) {
    if (function == nullptr) {
      Miss(counter.row(), "this driver's NVML lacks this call");
      return false;
    }
    const int code = function(arguments...);
    if (code == Nvml::kSuccess) return true;
    if (code != last_failure_) last_words_ = nvml_->Words(code);
    last_failure_ = code;
    Miss(counter.row(), last_words_);
    return false;
  }

  void MissEverything(const std::string& reason) {
    MissAll(reason, Row("gpu<n>.utilization"), Row("gpu<n>.memory"), Row("gpu<n>.sm_clock"),
            Row("gpu<n>.power"), Row("gpu<n>.pcie_rx"), Row("gpu<n>.pcie_tx"));
  }

  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
  size_t turn_ = 0;
  int last_failure_ = Nvml::kSuccess;
  std::string last_words_;
};

}  // namespace

template <class Function>
void Nvml::Bind(Function*& into, const char* symbol) {
  void* const found = dlsym(library_, symbol);
  static_assert(sizeof found == sizeof into);
  std::memcpy(&into, &found, sizeof found);  // ISO C++ has no cast from object to function
}

Result<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  const std::string hint = "install NVIDIA's driver, or pass the device into the container";
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
    return Error{ErrorKind::kRun, "this is not NVML: nvmlInit_v2 or another call is missing",
                 library, "use NVIDIA's libnvidia-ml.so.1"};
  }
  if (const int code = nvml->init_(); code != kSuccess) {
    return Error{ErrorKind::kRun, "NVML cannot be initialized: " + nvml->Words(code), library,
                 hint};
  }
  nvml->initialized_ = true;
  if (const int code = nvml->get_count_(&nvml->count_); code != kSuccess) {
    return Error{ErrorKind::kRun, "NVML cannot count devices: " + nvml->Words(code), library, hint};
  }
  return nvml;
}

Nvml::~Nvml() {
  if (initialized_ && shutdown_ != nullptr) shutdown_();
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

std::unique_ptr<Source> MakeGpus(const std::string& library) {
  return std::make_unique<Gpus>(library);
}

}  // namespace stallscope::system
