// A module whose device goes away in the middle of a run, as a GPU does that falls off its bus. It
// computes nothing; what it is asked to run is recorded, so that a trace shows how far it came.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "collectors/device/cuda_module.h"

namespace stallscope::device {
namespace {

constexpr int kWaits = 6;  // that go well

struct Health {
  std::atomic<int> waits{0};
  bool lost() const { return waits.load() > kWaits; }
  Status status() const {
    if (!lost()) return {};
    return Error{ErrorKind::kRun, "the work of the device failed: the device is lost", "cuda",
                 "look at the kernel's log for an Xid"};
  }
};

class LosableEvent final : public Event {
 public:
  explicit LosableEvent(Health& health) : health_(health) {}
  bool Done() const override { return true; }
  Status Wait() override {
    ++health_.waits;
    return health_.status();
  }
  Ticks time() const override { return time_; }

 private:
  Health& health_;
  const Ticks time_ = NowTicks();
};

class LosableStream final : public Stream {
 public:
  LosableStream(Health& health, std::unique_ptr<DeviceTrack> track)
      : health_(health), track_(std::move(track)) {}
  Status Copy(const CopyRequest&) override { return health_.status(); }
  Status Run(const Launch& launch, ItemId batch) override {
    const Ticks now = NowTicks();
    if (track_ != nullptr) track_->Kernel(launch.name(), batch, 1, 0, {now, now, now + 1000});
    return health_.status();
  }
  Status Run(const std::shared_ptr<const Graph>&, ItemId) override { return health_.status(); }
  Result<std::shared_ptr<Event>> Record() override {
    STALLSCOPE_RETURN_IF_ERROR(health_.status());
    return std::shared_ptr<Event>(std::make_shared<LosableEvent>(health_));
  }
  Status Wait(const std::shared_ptr<Event>&) override { return health_.status(); }
  Status Synchronize() override { return health_.status(); }
  Status BeginCapture() override { return health_.status(); }
  Result<std::shared_ptr<const Graph>> EndCapture() override {
    return Error{ErrorKind::kRun, "no graphs here", "cuda", ""};
  }
  TrackId track() const override { return TrackId::None(); }

 private:
  Health& health_;
  const std::unique_ptr<DeviceTrack> track_;
};

class LosableDevice final : public Device {
 public:
  explicit LosableDevice(std::shared_ptr<DeviceTracks> tracks) : tracks_(std::move(tracks)) {
    capabilities_.kind = Kind::kCuda;
    capabilities_.name = "a device that goes away";
    capabilities_.computes = false;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  Result<Block> Allocate(size_t bytes) override { return Block(this, 64, bytes); }
  MemoryUse memory() const override { return {}; }
  uint8_t* AllocatePinned(size_t bytes) noexcept override {
    return static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  void FreePinned(uint8_t* block, size_t) noexcept override { std::free(block); }
  Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                            trace::TrackKind kind) override {
    trace::TrackInfo info;
    info.name = name;
    info.kind = kind;
    auto track = tracks_ != nullptr ? tracks_->New(info) : nullptr;
    return std::unique_ptr<Stream>(std::make_unique<LosableStream>(health_, std::move(track)));
  }

 private:
  void Free(Address, size_t) noexcept override {}

  Capabilities capabilities_;
  Health health_;
  const std::shared_ptr<DeviceTracks> tracks_;
};

Result<std::unique_ptr<Device>> Make(const Options&, std::shared_ptr<DeviceTracks> tracks) {
  return std::unique_ptr<Device>(std::make_unique<LosableDevice>(std::move(tracks)));
}

}  // namespace
}  // namespace stallscope::device

extern "C" const stallscope::device::CudaModule* stallscope_cuda_module() {
  using namespace stallscope::device;
  static const CudaModule module{kCudaModuleBuild, Make, [] { return std::vector<CudaPart>(); },
                                 nullptr, nullptr};
  return &module;
}
