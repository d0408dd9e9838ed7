// A stream of an emulated device: no thread, only times. Inside this room.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_EMULATED_STREAM_H_
#define STALLSCOPE_COLLECTORS_DEVICE_EMULATED_STREAM_H_

#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "collectors/device/emulated_device.h"
#include "collectors/device/stream_recorder.h"

namespace stallscope::device {

class EmulatedEvent : public Event {
 public:
  EmulatedEvent(DeviceClock& clock, Ticks time) : clock_(clock), time_(time) {}
  bool Done() const override { return clock_.Now() >= time_; }
  Status Wait() override {
    clock_.WaitUntil(time_);
    return {};
  }
  Ticks time() const override { return time_; }

 private:
  DeviceClock& clock_;
  const Ticks time_;
};

class EmulatedStream : public Stream {
 public:
  EmulatedStream(EmulatedDevice& device, const std::string& name, trace::TrackKind kind);
  ~EmulatedStream() override;

  Status Copy(const CopyRequest& request) override;
  Status Run(const Launch& launch, ItemId batch) override;
  Status Run(const std::shared_ptr<const Graph>& graph, ItemId batch) override;
  Result<std::shared_ptr<Event>> Record() override;
  Status Wait(const std::shared_ptr<Event>& event) override;
  Status Synchronize() override;
  Status BeginCapture() override;
  Result<std::shared_ptr<const Graph>> EndCapture() override;
  TrackId track() const override { return recorder_.track(); }

 private:
  // Done in the timeline, not yet in the trace: its time may still have to come.
  struct Pending {
    std::variant<CopyRequest, std::string> what;
    trace::CopyMemory memory = trace::CopyMemory::kUnknown;
    ItemId batch;
    uint64_t correlation = 0;
    uint64_t graph = 0;
    Times times;
  };
  Ticks ChargeLaunch();
  void Enqueue(const Launch& launch, ItemId batch, uint64_t correlation, uint64_t graph,
               Ticks enqueued);
  void WaitForRoom();
  void RecordDone(Ticks now);

  EmulatedDevice& device_;
  StreamRecorder recorder_;
  Ticks free_ = 0;       // when what is enqueued is done
  Ticks host_free_ = 0;  // when the last launch had taken its host time
  Ticks overslept_ = 0;  // by how much later the host woke
  std::deque<Ticks> launches_;
  std::deque<Pending> pending_;
  bool capturing_ = false;
  std::vector<Launch> captured_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_EMULATED_STREAM_H_
