#include "collectors/device/device.h"

#include <array>
#include <string>
#include <utility>

#include "collectors/device/cuda_module.h"
#include "collectors/device/emulated_device.h"
#include "collectors/device/host_device.h"
#include "collectors/device/recorded_stream.h"

namespace stallscope::device {
namespace {

Result<std::unique_ptr<Device>> MakeCuda(const Options& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(const CudaModule* const module, LoadCudaModule(CudaModulePlaces()));
  std::shared_ptr<DeviceTracks> tracks;
  if (options.recorder != nullptr) tracks = std::make_shared<RecordedTracks>(*options.recorder);
  return module->make(options, std::move(tracks));
}

}  // namespace

std::string_view Name(Kind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"host", "emulated", "cuda"};
  return kNames[static_cast<size_t>(kind)];
}

Result<std::unique_ptr<Device>> MakeDevice(Kind kind, const Options& options) {
  switch (kind) {
    case Kind::kHost:
      return HostDevice::Make(options);
    case Kind::kEmulated:
      return std::unique_ptr<Device>(std::make_unique<EmulatedDevice>(options));
    case Kind::kCuda:
      break;
  }
  return MakeCuda(options);
}

}  // namespace stallscope::device
