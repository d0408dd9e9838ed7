// A stream of the host device: a queue and the thread that works it off. Inside this room.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_HOST_STREAM_H_
#define STALLSCOPE_COLLECTORS_DEVICE_HOST_STREAM_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/device/host_device.h"
#include "collectors/device/host_kernels.h"
#include "collectors/device/launch_graph.h"
#include "collectors/device/stream_recorder.h"

namespace stallscope::device {

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

class HostStream : public Stream {
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
  Status BeginCapture() override;
  Result<std::shared_ptr<const Graph>> EndCapture() override;
  TrackId track() const override { return recorder_.track(); }

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
  StreamRecorder recorder_;  // the thread's
  HostKernels kernels_;      // the thread's
  bool capturing_ = false;
  std::vector<Launch> captured_;

  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable room_;
  std::deque<Work> queue_;
  bool stop_ = false;
  ThreadGroup thread_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_HOST_STREAM_H_
