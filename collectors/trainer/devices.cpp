#include "collectors/trainer/devices.h"

#include <new>
#include <utility>

#include "collectors/device/device_state.h"

namespace stallscope::trainer {
namespace {

device::Kind KindOf(TrainerDevice kind) {
  switch (kind) {
    case TrainerDevice::kEmulated:
      return device::Kind::kEmulated;
    case TrainerDevice::kCuda:
      return device::Kind::kCuda;
    case TrainerDevice::kHost:
      break;
  }
  return device::Kind::kHost;
}

device::Options OptionsOf(const TrainerSpec& trainer) {
  device::Options options;
  const EmulatedPreset preset = trainer.emulated.preset;
  const EmulatedSpec figures = Resolved(trainer.emulated);
  const double speed = EmulatedSpeed(trainer);
  if (preset != EmulatedPreset::kNone) options.emulated_name = ToWord(preset);
  if (trainer.device == TrainerDevice::kEmulated) {
    options.memory_bytes = static_cast<uint64_t>(figures.memory_bytes);
  }
  options.emulated = {figures.compute_us_per_batch / speed,
                      figures.compute_us_per_sample / speed,
                      figures.h2d_gbps_pinned,
                      figures.h2d_gbps_pageable,
                      figures.h2d_latency_us,
                      figures.launch_us,
                      figures.op_gbps};
  return options;
}

}  // namespace

PinnedBuffers::~PinnedBuffers() {
  for (const auto& [bytes, blocks] : spare_) {
    for (uint8_t* block : blocks) device_.FreePinned(block, bytes);
  }
}

uint8_t* PinnedBuffers::Allocate(size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = spare_.find(bytes);
    if (found != spare_.end() && !found->second.empty()) {
      uint8_t* block = found->second.back();
      found->second.pop_back();
      return block;
    }
  }
  return device_.AllocatePinned(bytes);
}

void PinnedBuffers::Free(uint8_t* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& blocks = spare_[bytes];
    if (blocks.size() < kSpare) {
      blocks.push_back(block);
      return;
    }
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
  device_.FreePinned(block, bytes);
}

Result<std::unique_ptr<Devices>> Devices::Make(const TrainerSpec& trainer,
                                               recorder::Recorder* recorder,
                                               device::DeviceClock* clock) {
  const StrategyKind strategy = trainer.strategy.kind;
  if (strategy == StrategyKind::kMultiWorker || strategy == StrategyKind::kParameterServer) {
    return Error{
        ErrorKind::kUsage,
        "'" + std::string(ToWord(strategy)) + "' needs several processes, and this run has one",
        "trainer.strategy.kind", "use 'single', or 'mirrored' for several replicas"};
  }
  device::Options options = OptionsOf(trainer);
  options.recorder = recorder;
  options.clock = clock;
  options.pinned = std::make_shared<device::PinnedMemory>();
  auto made = std::make_unique<Devices>();
  made->precision_ = trainer.precision;
  for (int64_t i = 0; i < trainer.strategy.replicas; ++i) {
    options.index = static_cast<uint32_t>(i);
    STALLSCOPE_ASSIGN_OR_RETURN(auto one, device::MakeDevice(KindOf(trainer.device), options));
    made->devices_.push_back(std::move(one));
  }
  made->pinned_ = std::make_unique<PinnedBuffers>(made->at(0));
  return made;
}

trace::DeviceInfo Devices::info() const {
  const device::Capabilities& can = devices_[0]->capabilities();
  trace::DeviceInfo info;
  info.kind = device::Name(can.kind);
  info.name = can.name;
  info.memory_bytes = can.memory_bytes;
  info.driver = can.driver;
  switch (precision_) {
    case Precision::kFp32:
      info.peak_flops_per_s = can.peaks.fp32;
      break;
    case Precision::kTf32:
      info.peak_flops_per_s = can.peaks.tf32;
      break;
    case Precision::kFp16:
    case Precision::kBf16:
      info.peak_flops_per_s = can.peaks.narrow;
  }
  return info;
}

}  // namespace stallscope::trainer
