#include "collectors/device/host_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "collectors/device/host_stream.h"

namespace stallscope::device {
namespace {

constexpr size_t kAlignment = 64;

uint64_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

}  // namespace

Result<std::unique_ptr<Device>> HostDevice::Make(const Options& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(HostBlas* const blas, HostBlas::Load());
  return std::unique_ptr<Device>(new HostDevice(options, *blas));
}

HostDevice::HostDevice(const Options& options, HostBlas& blas)
    : options_(options),
      blas_(blas),
      memory_("host device", options.memory_bytes != 0 ? options.memory_bytes : MachineMemory()),
      pinned_(options.pinned ? options.pinned : std::make_shared<PinnedMemory>()) {
  capabilities_.kind = Kind::kHost;
  capabilities_.name = "host CPU";
  capabilities_.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : MachineMemory();
}

Result<Block> HostDevice::Allocate(size_t bytes) {
  STALLSCOPE_RETURN_IF_ERROR(memory_.Take(bytes));
  const size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  void* block = std::aligned_alloc(kAlignment, rounded);
  if (block == nullptr) {
    memory_.GiveBack(bytes);
    return Error{ErrorKind::kRun,
                 "the machine has no " + std::to_string(bytes) + " bytes left for the device",
                 "host device", "make the batch or the model smaller"};
  }
  return Block(this, reinterpret_cast<Address>(block), bytes);
}

void HostDevice::Free(Address address, size_t bytes) noexcept {
  std::free(reinterpret_cast<void*>(address));
  memory_.GiveBack(bytes);
}

Result<std::unique_ptr<Stream>> HostDevice::NewStream(const std::string& name,
                                                      trace::TrackKind kind) {
  auto stream = std::make_unique<HostStream>(*this, name, kind);
  STALLSCOPE_RETURN_IF_ERROR(stream->Start(name));
  return std::unique_ptr<Stream>(std::move(stream));
}

void HostDevice::Fail(Error error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

Status HostDevice::failure() const {
  if (!failed()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return *failure_;
}

}  // namespace stallscope::device
