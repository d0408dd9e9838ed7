// The devices that a spec trains on, one or one per replica, and their pinned memory for batches.
//
// Created before the pipeline, which puts its batches into that memory, and destroyed after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "analyzer/trace/events.h"
#include "collectors/data/buffer.h"
#include "collectors/device/device.h"

namespace stallscope::trainer {

// Pinning is slow, so blocks are reused. Any thread. The device must outlive it, and it must
// outlive every buffer.
class PinnedBuffers : public data::BufferMemory {
 public:
  explicit PinnedBuffers(device::Device& device) : device_(device) {}
  ~PinnedBuffers() override;
  PinnedBuffers(const PinnedBuffers&) = delete;
  PinnedBuffers& operator=(const PinnedBuffers&) = delete;

  uint8_t* Allocate(size_t bytes) noexcept override;
  void Free(uint8_t* block, size_t bytes) noexcept override;

 private:
  static constexpr size_t kSpare = 8;  // per size

  device::Device& device_;
  std::mutex mutex_;
  std::map<size_t, std::vector<uint8_t*>> spare_;  // by size
};

class Devices {
 public:
  // kUsage for a strategy that needs several processes; kRun if there is no such device. `clock`:
  // for emulated devices, in tests.
  static Result<std::unique_ptr<Devices>> Make(const TrainerSpec& trainer,
                                               recorder::Recorder* recorder,
                                               device::DeviceClock* clock = nullptr);

  size_t size() const { return devices_.size(); }
  device::Device& at(size_t replica) { return *devices_[replica]; }
  // For PipelineOptions::batch_memory, where spec.transfer.pinned is set.
  data::BufferMemory* pinned() { return pinned_.get(); }
  // For the trace and the report.
  trace::DeviceInfo info() const;

 private:
  Precision precision_ = Precision::kFp32;
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::unique_ptr<PinnedBuffers> pinned_;
};

}  // namespace stallscope::trainer
