#include <array>
#include <string>
#include <utility>

#include "collectors/device/device.h"
#include "collectors/device/emulated_device.h"
#include "collectors/device/host_device.h"

namespace stallscope::device {

std::string_view Name(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"host", "emulated", "cuda"};
  return kNames[static_cast<size_t>(kind)];
}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Block::~Block() {
  if (owner_ != nullptr) owner_->Free(address_, bytes_);
}

Result<std::unique_ptr<Device>> MakeDevice(Kind kind, const Options& options) {
  switch (kind) {
    case Kind::kHost:
      return std::unique_ptr<Device>(std::make_unique<HostDevice>(options));
    case Kind::kEmulated:
      return std::unique_ptr<Device>(std::make_unique<EmulatedDevice>(options));
    case Kind::kCuda:
      break;
  }
  return Error{ErrorKind::kRun, "the module for CUDA devices is missing from this build", "cuda",
               "use the device 'host', or 'emulated' with the figures of a GPU"};
}

}  // namespace stallscope::device
