// The CPU as a device: memory from the heap under a limit, a thread a stream. Inside this room.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_HOST_DEVICE_H_
#define STALLSCOPE_COLLECTORS_DEVICE_HOST_DEVICE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "collectors/device/device.h"
#include "collectors/device/device_memory.h"
#include "collectors/device/host_blas.h"
#include "collectors/device/pinned_memory.h"

namespace stallscope::device {

class HostDevice : public Device {
 public:
  // kRun where there is nothing to compute with.
  static Result<std::unique_ptr<Device>> Make(const Options& options);

  const Capabilities& capabilities() const override { return capabilities_; }
  Result<Block> Allocate(size_t bytes) override;
  MemoryUse memory() const override { return memory_.use(); }
  uint8_t* AllocatePinned(size_t bytes) noexcept override { return pinned_->Allocate(bytes); }
  void FreePinned(uint8_t* block, size_t) noexcept override { pinned_->Free(block); }
  Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                            trace::TrackKind kind) override;

  // For the streams. The first error stays.
  void Fail(Error error);
  Status failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
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
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_HOST_DEVICE_H_
