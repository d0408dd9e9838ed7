#include "analyzer/base/units.h"
#include "collectors/system/nvml.h"
#include "collectors/system/sources.h"

namespace stallscope::system {
namespace {

struct Gpu {
  Gpu(Nvml::Device handle, const std::string& number)
      : device(handle),
        utilization(counter::kGpuUtilization, number),
        memory(counter::kGpuMemory, number),
        clock(counter::kGpuSmClock, number),
        power(counter::kGpuPower, number),
        pcie_rx(counter::kGpuPcieRx, number),
        pcie_tx(counter::kGpuPcieTx, number) {}

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
    std::string reason = "NVML knows no device";
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
    // Each of these blocks for 20 ms: one a reading, in turn.
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

  // Calls `function`, and keeps the reason where it is missing or refuses.
  template <class Function, class... Arguments>
  bool Works(const Counter& counter, Function* function, Arguments... arguments) {
    if (function == nullptr) {
      Miss(counter.row(), "this driver's NVML has no such call");
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
    using namespace counter;  // NOLINT(google-build-using-namespace)
    MissAll(reason, kGpuUtilization, kGpuMemory, kGpuSmClock, kGpuPower, kGpuPcieRx, kGpuPcieTx);
  }

  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
  size_t turn_ = 0;
  int last_failure_ = Nvml::kSuccess;
  std::string last_words_;
};

}  // namespace

std::unique_ptr<Source> MakeGpus(const std::string& library) {
  return std::make_unique<Gpus>(library);
}

}  // namespace stallscope::system
