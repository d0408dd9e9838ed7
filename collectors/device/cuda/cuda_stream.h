// A stream of a GPU, and how its work gets into the trace. Inside the module; belongs to one thread
// at a time.
//
// With CUPTI, what is enqueued is numbered and the collector writes the track. Without, each piece
// of work is between two events, and the stream writes finished work whenever new work comes.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectors/device/cuda/cuda_device.h"
#include "collectors/device/cuda/launcher.h"
#include "collectors/device/device.h"

namespace stallscope::device::cuda {

class CudaGraph : public Graph {
 public:
  CudaGraph(CudaDevice& device, cudaGraphExec_t graph, size_t launches);
  ~CudaGraph() override;
  size_t launches() const override { return launches_; }
  uint64_t id() const override { return id_; }
  cudaGraphExec_t handle() const { return graph_; }
  const CudaDevice& device() const { return device_; }

 private:
  CudaDevice& device_;
  const cudaGraphExec_t graph_;
  const size_t launches_;
  const uint64_t id_;
};

class CudaStream : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> Make(CudaDevice& device, const std::string& name,
                                              trace::TrackKind kind);
  ~CudaStream() override;

  Status Copy(const CopyRequest& request) override;
  Status Run(const Launch& launch, ItemId batch) override;
  Status Run(const std::shared_ptr<const Graph>& graph, ItemId batch) override;
  Result<std::shared_ptr<Event>> Record() override;
  Status Wait(const std::shared_ptr<Event>& event) override;
  Status Synchronize() override;
  Status BeginCapture() override;
  Result<std::shared_ptr<const Graph>> EndCapture() override;
  TrackId track() const override { return track_ ? track_->track() : TrackId::None(); }

 private:
  // Work between two events, not yet in the trace.
  struct Pending {
    std::optional<CopyRequest> copy;  // none: a kernel
    std::string name;
    trace::CopyMemory memory = trace::CopyMemory::kUnknown;
    ItemId batch;
    uint64_t graph = 0;
    uint64_t correlation = 0;
    Ticks enqueued = 0;
    cudaEvent_t before = nullptr;
    cudaEvent_t after = nullptr;
  };

  CudaStream(CudaDevice& device, std::string name) : device_(device), name_(std::move(name)) {}
  // Before anything is enqueued: no capture, a healthy device, set for the thread.
  Status Ready(const char* in_capture) const;
  // Calls `enqueue` and records what it enqueues.
  template <class Enqueue>
  Status Traced(Pending work, Enqueue&& enqueue);
  void WriteDone();
  Status RunImageOp(const Launch& launch, ItemId batch);
  Result<uint8_t*> Staging(size_t which, size_t bytes);
  Result<cudaGraphExec_t> Captured(const std::vector<Launch>& launches);
  Status Launched(const std::vector<Launch>& launches);

  CudaDevice& device_;
  const std::string name_;
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<DeviceTrack> track_;
  std::unique_ptr<Launcher> launcher_;
  std::deque<Pending> pending_;
  bool capturing_ = false;
  std::vector<Launch> captured_;
  // Pinned: what an op on the host reads and writes.
  std::pair<uint8_t*, size_t> staging_[2] = {};
};

}  // namespace stallscope::device::cuda
