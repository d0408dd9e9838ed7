#include "collectors/device/host_device.h"

#include <cblas.h>
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

HostDevice::HostDevice(const Options& options)
    : options_(options),
      memory_("host device", options.memory_bytes != 0 ? options.memory_bytes : MachineMemory()),
      pinned_(options.pinned ? options.pinned : std::make_shared<PinnedMemory>()) {
  capabilities_.kind = Kind::kHost;
  capabilities_.name = "host CPU";
  capabilities_.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : MachineMemory();
  // More than one, and the library's threads spin while they wait for the next product, on cores
  // that the pipeline decodes on.
  openblas_set_num_threads(std::max(1, options.host_threads));
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
  return std::unique_ptr<Stream>(std::make_unique<HostStream>(*this, name, kind));
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
