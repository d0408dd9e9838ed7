// The devices that a spec trains on: one, or one for each replica.
//
// Made before the pipeline, which puts its batches into their pinned memory, and gone after it.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_DEVICES_H_
#define STALLSCOPE_COLLECTORS_TRAINER_DEVICES_H_

#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "analyzer/trace/events.h"
#include "collectors/device/device.h"
#include "collectors/trainer/pinned_buffers.h"

namespace stallscope::trainer {

class Devices {
 public:
  // kUsage for a strategy that needs several processes; kRun where there is no such device.
  // `clock`: of emulated devices, for tests.
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

#endif  // STALLSCOPE_COLLECTORS_TRAINER_DEVICES_H_
