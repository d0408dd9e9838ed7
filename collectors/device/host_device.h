// The CPU as a device: memory from the heap under a limit; each stream is a queue and the thread
// that runs it. Inside this room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/device/device.h"
#include "collectors/device/device_state.h"
#include "collectors/device/host_blas.h"
#include "collectors/device/host_kernels.h"
#include "collectors/device/recorded_stream.h"

namespace stallscope::device {

class HostDevice : public Device {
 public:
  // kRun if OpenBLAS cannot be loaded.
  static Result<std::unique_ptr<Device>> Make(const Options& options);

  const Capabilities& capabilities() const override { return capabilities_; }
  Result<Block> Allocate(size_t bytes) override;
  MemoryUse memory() const override { return memory_.use(); }
  uint8_t* AllocatePinned(size_t bytes) noexcept override { return pinned_->Allocate(bytes); }
  void FreePinned(uint8_t* block, size_t) noexcept override { pinned_->Free(block); }
  Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                            trace::TrackKind kind) override;

  // For the streams.
  DeviceFailure& failure() { return failure_; }
  bool IsPinned(const void* host, size_t bytes) const { return pinned_->Contains(host, bytes); }
  uint64_t NextCorrelation() { return correlation_.fetch_add(1) + 1; }
  const Options& options() const { return options_; }
  HostBlas& blas() { return blas_; }

 private:
  HostDevice(const Options& options, HostBlas& blas);
  void Free(Address address, size_t bytes) noexcept override;

  const Options options_;
  HostBlas& blas_;
  Capabilities capabilities_;
  DeviceMemory memory_;
  const std::shared_ptr<PinnedMemory> pinned_;
  std::atomic<uint64_t> correlation_{0};
  DeviceFailure failure_;
};

// Happens once: when its stream reaches it, whether or not the device has failed by then.
class HostEvent : public Event {
 public:
  explicit HostEvent(HostDevice& device) : device_(device) {}
  bool Done() const override;
  Status Wait() override;
  Ticks time() const override;
  void Happen(Ticks time);

 private:
  HostDevice& device_;
  mutable std::mutex mutex_;
  std::condition_variable happened_;
  bool done_ = false;
  Ticks time_ = 0;
};

class HostStream : public RecordedStream {
 public:
  HostStream(HostDevice& device, const std::string& name, trace::TrackKind kind);
  ~HostStream() override;
  Status Start(const std::string& name);  // once, before anything else

  Status Copy(const CopyRequest& request) override;
  Status Run(const Launch& launch, ItemId batch) override;
  Status Run(const std::shared_ptr<const Graph>& graph, ItemId batch) override;
  Result<std::shared_ptr<Event>> Record() override;
  Status Wait(const std::shared_ptr<Event>& event) override;
  Status Synchronize() override;

 private:
  struct Happening {
    std::shared_ptr<HostEvent> event;
  };
  struct WaitFor {
    std::shared_ptr<HostEvent> event;
  };
  struct Work {
    std::variant<CopyRequest, Launch, std::shared_ptr<const LaunchGraph>, Happening, WaitFor> what;
    ItemId batch;
    Ticks enqueued = 0;
    uint64_t correlation = 0;
  };

  Status Enqueue(Work work);
  void Loop(const std::string& name);
  void Do(const Work& work);
  void DoCopy(const Work& work, const CopyRequest& request);
  void DoLaunch(const Work& work, const Launch& launch, uint64_t graph);

  HostDevice& device_;
  HostKernels kernels_;  // the thread's

  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable room_;
  std::deque<Work> queue_;
  bool stop_ = false;
  ThreadGroup thread_;
};

}  // namespace stallscope::device
