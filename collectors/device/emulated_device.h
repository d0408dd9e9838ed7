// A device's timing without its arithmetic. Inside this room.
//
// The start and end of each piece of work are computed as it is enqueued, on a timeline of its own:
// begin = the latest of (enqueued, the stream's last end, its engine's last end, the events waited
// for). Waits sleep until such a time; a late wakeup does not move the timeline, so errors do not
// add up. Its streams have no threads, only times.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/base/clock.h"
#include "collectors/device/device.h"
#include "collectors/device/device_state.h"
#include "collectors/device/recorded_stream.h"

namespace stallscope::device {

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const Options& options);

  const Capabilities& capabilities() const override { return capabilities_; }
  Result<Block> Allocate(size_t bytes) override;
  MemoryUse memory() const override { return memory_.use(); }
  uint8_t* AllocatePinned(size_t bytes) noexcept override { return pinned_->Allocate(bytes); }
  void FreePinned(uint8_t* block, size_t) noexcept override { pinned_->Free(block); }
  Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                            trace::TrackKind kind) override;

  // For the streams. An engine does one piece of work at a time, whatever its stream.
  enum Engine { kCompute, kToDevice, kToHost, kNoEngine };
  struct Slot {
    Ticks start;
    Ticks end;
  };
  Slot Reserve(Engine engine, Ticks earliest, Ticks duration);
  Ticks CopyTicks(const CopyRequest& request, bool pinned) const;
  Ticks KernelTicks(const Launch& launch) const;
  Ticks LaunchTicks() const { return launch_ticks_; }
  bool IsPinned(const void* host, size_t bytes) const { return pinned_->Contains(host, bytes); }
  uint64_t NextCorrelation() { return correlation_.fetch_add(1) + 1; }
  DeviceClock& clock() { return *clock_; }
  const Options& options() const { return options_; }

 private:
  void Free(Address address, size_t bytes) noexcept override;

  const Options options_;
  std::unique_ptr<DeviceClock> own_clock_;
  DeviceClock* clock_;
  Ticks launch_ticks_ = 0;
  Capabilities capabilities_;
  DeviceMemory memory_;
  const std::shared_ptr<PinnedMemory> pinned_;
  std::atomic<uint64_t> correlation_{0};
  std::atomic<Address> next_address_{4096};

  std::mutex mutex_;
  std::array<Ticks, 3> engine_free_{};
};

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

class EmulatedStream : public RecordedStream {
 public:
  EmulatedStream(EmulatedDevice& device, const std::string& name, trace::TrackKind kind);
  ~EmulatedStream() override;

  Status Copy(const CopyRequest& request) override;
  Status Run(const Launch& launch, ItemId batch) override;
  Status Run(const std::shared_ptr<const Graph>& graph, ItemId batch) override;
  Result<std::shared_ptr<Event>> Record() override;
  Status Wait(const std::shared_ptr<Event>& event) override;
  Status Synchronize() override;

 private:
  // Done on the timeline, not yet in the trace: its time may be in the future.
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
  Ticks free_ = 0;       // when what is enqueued is done
  Ticks host_free_ = 0;  // when the last launch had taken its host time
  Ticks overslept_ = 0;  // by how much the host woke late
  std::deque<Ticks> launches_;
  std::deque<Pending> pending_;
};

}  // namespace stallscope::device
