// NVIDIA's devices as a source of counters, and NVML, the management library that it asks.
//
// NVML is loaded on demand: the same program runs on a machine without the driver, and builds
// without nvml.h. The prototypes follow NVML's documented binary interface (libnvidia-ml.so.1),
// which has kept these symbols since driver 390. A symbol that the library lacks is null. One
// thread at a time.
#pragma once

#include <memory>
#include <string>

#include "analyzer/base/result.h"
#include "collectors/system/source.h"

namespace stallscope::system {

class Nvml {
 public:
  using Device = void*;
  struct Utilization {
    unsigned gpu;
    unsigned memory;
  };
  struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };
  static constexpr int kSuccess = 0;
  static constexpr int kSmClock = 1;
  static constexpr int kPcieTx = 0;
  static constexpr int kPcieRx = 1;

  // Loads and initializes; the error says which of the two failed and why.
  static Result<std::unique_ptr<Nvml>> Load(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  unsigned count() const { return count_; }
  Result<Device> Open(unsigned index) const;
  std::string DriverVersion() const;  // empty where unknown
  std::string Name(Device device) const;
  std::string Words(int code) const;  // what a return code means

  int (*get_utilization)(Device, Utilization*) = nullptr;
  int (*get_memory)(Device, Memory*) = nullptr;
  int (*get_clock)(Device, int kind, unsigned* mhz) = nullptr;
  int (*get_power)(Device, unsigned* milliwatts) = nullptr;
  int (*get_pcie_rate)(Device, int direction, unsigned* kilobytes_per_second) = nullptr;

 private:
  Nvml() = default;
  template <class Function>
  void Bind(Function*& into, const char* symbol);

  void* library_ = nullptr;
  bool initialized_ = false;
  unsigned count_ = 0;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*get_count_)(unsigned*) = nullptr;
  int (*get_handle_)(unsigned, Device*) = nullptr;
  int (*get_name_)(Device, char*, unsigned) = nullptr;
  int (*get_driver_version_)(char*, unsigned) = nullptr;
  const char* (*words_)(int) = nullptr;
};

// Loads `library` (libnvidia-ml.so.1 or a path) here and now. The number in gpu<n> is NVML's, which
// counts in PCI order and ignores CUDA_VISIBLE_DEVICES. A reading may block for 20 ms, which is how
// long NVML measures a PCIe rate: give the source a thread of its own.
std::unique_ptr<Source> MakeGpus(const std::string& library);

}  // namespace stallscope::system
