#include "collectors/device/cuda/cuda_stream.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

#include "collectors/device/cuda/nvtx.h"
#include "collectors/device/cuda/status.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {
namespace {

std::atomic<uint64_t> last_graph{0};

// Includes memory that others had CUDA pin.
bool IsPinned(const void* host) {
  cudaPointerAttributes about{};
  if (cudaPointerGetAttributes(&about, host) == cudaSuccess) {
    return about.type == cudaMemoryTypeHost;
  }
  static_cast<void>(cudaGetLastError());
  return false;
}
bool IsPinned(const void* host, size_t bytes) {
  const auto* first = static_cast<const uint8_t*>(host);
  return IsPinned(first) && (bytes == 0 || IsPinned(first + bytes - 1));
}

}  // namespace

CudaGraph::CudaGraph(CudaDevice& device, cudaGraphExec_t graph, size_t launches)
    : device_(device), graph_(graph), launches_(launches), id_(last_graph.fetch_add(1) + 1) {}

CudaGraph::~CudaGraph() {
  if (device_.Use().ok()) cudaGraphExecDestroy(graph_);
}

Result<std::unique_ptr<Stream>> CudaStream::Make(CudaDevice& device, const std::string& name,
                                                 trace::TrackKind kind) {
  STALLSCOPE_RETURN_IF_ERROR(device.failure());
  STALLSCOPE_RETURN_IF_ERROR(device.Use());
  std::unique_ptr<CudaStream> made(new CudaStream(device, name));
  // Not synchronized with the default stream, which would delay all others.
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(
      cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking), "making a stream"));
  made->launcher_ = std::make_unique<Launcher>(device.blas(), device.blas_handle(), device.fault());
  if (DeviceTracks* tracks = device.tracks(); tracks != nullptr) {
    trace::TrackInfo info;
    info.name = name;
    info.kind = kind;
    info.device = device.options().index;
    made->track_ = tracks->New(info);
  }
  return std::unique_ptr<Stream>(std::move(made));
}

CudaStream::~CudaStream() {
  static_cast<void>(device_.Use());
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  WriteDone();
  for (const Pending& work : pending_) {  // of a device that failed
    device_.events().Give(work.before);
    device_.events().Give(work.after);
  }
  launcher_.reset();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  for (const auto& [block, bytes] : staging_) device_.FreePinned(block, bytes);
}

Status CudaStream::Ready(const char* in_capture) const {
  if (capturing_) return CaptureError(in_capture);
  STALLSCOPE_RETURN_IF_ERROR(device_.failure());
  return device_.Use();
}

template <class Enqueue>
Status CudaStream::Traced(Pending work, Enqueue&& enqueue) {
  const NvtxRange range(work.name.c_str());
  if (track_ == nullptr) return enqueue();
  work.enqueued = NowTicks();
  if (ActivityCollector* collector = device_.collector(); collector != nullptr) {
    collector->Begin({track_, work.batch, work.graph, work.enqueued, work.memory});
    Status done = enqueue();
    collector->End();
    return done;
  }
  WriteDone();
  work.correlation = device_.NextCorrelation();
  STALLSCOPE_ASSIGN_OR_RETURN(work.before, device_.events().Take());
  auto after = device_.events().Take();
  if (!after.ok()) {
    device_.events().Give(work.before);
    return std::move(after).error();
  }
  work.after = after.value();
  Status done = device_.Checked(cudaEventRecord(work.before, stream_), "recording an event");
  if (done.ok()) done = enqueue();
  if (done.ok()) {
    done = device_.Checked(cudaEventRecord(work.after, stream_), "recording an event");
  }
  if (!done.ok()) {
    device_.events().Give(work.before);
    device_.events().Give(work.after);
    return done;
  }
  pending_.push_back(std::move(work));
  return {};
}

void CudaStream::WriteDone() {
  for (; !pending_.empty(); pending_.pop_front()) {
    const Pending& work = pending_.front();
    if (cudaEventQuery(work.after) != cudaSuccess) return;
    const auto start = device_.clock().TimeOf(work.before);
    float ms = 0;
    if (!start.ok() || cudaEventElapsedTime(&ms, work.before, work.after) != cudaSuccess) return;
    Times times;
    times.enqueued = work.enqueued;
    times.start = std::max(work.enqueued, start.value());
    const double ticks = static_cast<double>(ms) * 1e6 * device_.ticks_per_ns();
    times.end = times.start + static_cast<Ticks>(std::llround(std::max(0.0, ticks)));
    if (work.copy) {
      track_->Copy(*work.copy, work.memory, work.correlation, times);
    } else {
      track_->Kernel(work.name, work.batch, work.correlation, work.graph, times);
    }
    device_.events().Give(work.before);
    device_.events().Give(work.after);
  }
}

Status CudaStream::Copy(const CopyRequest& request) {
  STALLSCOPE_RETURN_IF_ERROR(Ready("a copy inside a capture"));
  const bool inside = request.direction == trace::CopyDirection::kDeviceToDevice;
  const bool pinned = !inside && IsPinned(request.host, request.bytes);
  auto* device = reinterpret_cast<void*>(request.device);
  void* to = device;
  const void* from = request.host;
  cudaMemcpyKind kind = cudaMemcpyHostToDevice;
  if (inside) {
    from = reinterpret_cast<const void*>(request.device_source);
    kind = cudaMemcpyDeviceToDevice;
  } else if (request.direction == trace::CopyDirection::kDeviceToHost) {
    to = request.host;
    from = device;
    kind = cudaMemcpyDeviceToHost;
  }
  Pending work;
  work.copy = request;
  work.name = "copy";
  work.batch = request.batch;
  if (!inside) work.memory = pinned ? trace::CopyMemory::kPinned : trace::CopyMemory::kPageable;
  STALLSCOPE_RETURN_IF_ERROR(Traced(std::move(work), [&] {
    return device_.Checked(cudaMemcpyAsync(to, from, request.bytes, kind, stream_), "a copy");
  }));
  return inside || pinned ? Status() : Synchronize();
}

Status CudaStream::Run(const Launch& launch, ItemId batch) {
  STALLSCOPE_RETURN_IF_ERROR(CheckLaunch(launch));
  if (capturing_) {
    if (launch.kernel == Kernel::kImageOp) return CaptureError("an image op inside a capture");
    captured_.push_back(launch);
    return {};
  }
  STALLSCOPE_RETURN_IF_ERROR(Ready(""));
  if (launch.kernel == Kernel::kImageOp) return RunImageOp(launch, batch);
  STALLSCOPE_RETURN_IF_ERROR(launcher_->Prepare(launch));
  Pending work;
  work.name = launch.name();
  work.batch = batch;
  return Traced(std::move(work), [&]() -> Status {
    Status done = launcher_->Run(launch, stream_);
    if (!done.ok()) device_.Fail(done.error());
    return done;
  });
}

Result<uint8_t*> CudaStream::Staging(size_t which, size_t bytes) {
  auto& [block, size] = staging_[which];
  if (size < bytes) {
    device_.FreePinned(block, size);
    size = 0;
    block = device_.AllocatePinned(bytes);
    if (block == nullptr) {
      return Error{ErrorKind::kRun, fmt::format("out of pinned memory: {} bytes requested", bytes),
                   name_, "make the batch smaller"};
    }
    size = bytes;
  }
  return block;
}

// An op without a kernel on this device goes to the host and back, and the stream waits. Correct,
// and as slow as the trace shows.
Status CudaStream::RunImageOp(const Launch& launch, ItemId batch) {
  if (!launch.on_host || launch.in.empty() || launch.out.empty()) return {};
  if (track_ != nullptr) {
    device_.tracks()->Limit(fmt::format(
        "'{}' on the device ran on the host, between two copies: there is no kernel for it",
        launch.image_op));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(uint8_t* const before, Staging(0, launch.in[0].bytes()));
  STALLSCOPE_ASSIGN_OR_RETURN(uint8_t* const after, Staging(1, launch.out[0].bytes()));
  CopyRequest copy;
  copy.direction = trace::CopyDirection::kDeviceToHost;
  copy.device = launch.in[0].address;
  copy.host = before;
  copy.bytes = launch.in[0].bytes();
  copy.batch = batch;
  STALLSCOPE_RETURN_IF_ERROR(Copy(copy));
  STALLSCOPE_RETURN_IF_ERROR(Synchronize());
  if (Status done = launch.on_host(before, after); !done.ok()) {
    device_.Fail(done.error());
    return done;
  }
  copy.direction = trace::CopyDirection::kHostToDevice;
  copy.device = launch.out[0].address;
  copy.host = after;
  copy.bytes = launch.out[0].bytes();
  STALLSCOPE_RETURN_IF_ERROR(Copy(copy));
  return Synchronize();  // the next op writes to the same memory
}

Status CudaStream::Run(const std::shared_ptr<const Graph>& graph, ItemId batch) {
  const auto ours = std::dynamic_pointer_cast<const CudaGraph>(graph);
  if (capturing_ || ours == nullptr || &ours->device() != &device_) {
    return CaptureError("a graph that cannot run here");
  }
  STALLSCOPE_RETURN_IF_ERROR(Ready(""));
  Pending work;
  work.name = "graph";
  work.batch = batch;
  work.graph = ours->id();
  return Traced(std::move(work), [&] {
    return device_.Checked(cudaGraphLaunch(ours->handle(), stream_), "launching a graph");
  });
}

Result<std::shared_ptr<Event>> CudaStream::Record() {
  STALLSCOPE_RETURN_IF_ERROR(Ready("an event inside a capture"));
  STALLSCOPE_ASSIGN_OR_RETURN(const cudaEvent_t event, device_.events().Take());
  auto made = std::make_shared<CudaEvent>(device_, event);
  STALLSCOPE_RETURN_IF_ERROR(
      device_.Checked(cudaEventRecord(event, stream_), "recording an event"));
  return std::shared_ptr<Event>(std::move(made));
}

Status CudaStream::Wait(const std::shared_ptr<Event>& event) {
  const auto ours = std::dynamic_pointer_cast<CudaEvent>(event);
  if (ours == nullptr) return CaptureError("an event of a different kind of device");
  STALLSCOPE_RETURN_IF_ERROR(Ready("a wait inside a capture"));
  return device_.Checked(cudaStreamWaitEvent(stream_, ours->handle(), 0), "waiting for an event");
}

Status CudaStream::Synchronize() {
  STALLSCOPE_RETURN_IF_ERROR(Ready("a synchronization inside a capture"));
  STALLSCOPE_RETURN_IF_ERROR(
      device_.Checked(cudaStreamSynchronize(stream_), "the work of the device"));
  WriteDone();
  return {};
}

Status CudaStream::BeginCapture() {
  STALLSCOPE_RETURN_IF_ERROR(Ready("a capture inside a capture"));
  capturing_ = true;
  return {};
}

Status CudaStream::Launched(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) {
    STALLSCOPE_RETURN_IF_ERROR(launcher_->Run(launch, stream_));
  }
  return {};
}

Result<cudaGraphExec_t> CudaStream::Captured(const std::vector<Launch>& launches) {
  for (const Launch& launch : launches) STALLSCOPE_RETURN_IF_ERROR(launcher_->Prepare(launch));
  // Relaxed: a kernel's code may be loaded when it is first used, here for instance.
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed),
                                      "beginning a capture"));
  const Status launched = Launched(launches);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  cudaGraphExec_t made = nullptr;
  cudaError_t instantiated = cudaSuccess;
  if (launched.ok() && ended == cudaSuccess) instantiated = cudaGraphInstantiate(&made, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  STALLSCOPE_RETURN_IF_ERROR(launched);
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(ended, "ending a capture"));
  STALLSCOPE_RETURN_IF_ERROR(StatusOf(instantiated, "making a graph"));
  return made;
}

Result<std::shared_ptr<const Graph>> CudaStream::EndCapture() {
  if (!capturing_) return CaptureError("the end of a capture that was not begun");
  capturing_ = false;
  const std::vector<Launch> launches = std::exchange(captured_, {});
  STALLSCOPE_RETURN_IF_ERROR(device_.failure());
  STALLSCOPE_RETURN_IF_ERROR(device_.Use());
  const NvtxRange range("capture");
  auto captured = Captured(launches);
  if (!captured.ok()) {
    device_.Fail(captured.error());
    return std::move(captured).error();
  }
  auto graph = std::make_shared<CudaGraph>(device_, captured.value(), launches.size());
  // Now, not in its first step.
  STALLSCOPE_RETURN_IF_ERROR(
      device_.Checked(cudaGraphUpload(graph->handle(), stream_), "uploading a graph"));
  return std::shared_ptr<const Graph>(std::move(graph));
}

}  // namespace stallscope::device::cuda
