#include "collectors/device/emulated_device.h"

#include <algorithm>
#include <cmath>

#include "collectors/device/emulated_stream.h"

namespace stallscope::device {

EmulatedDevice::EmulatedDevice(const Options& options)
    : options_(options),
      own_clock_(options.clock == nullptr ? std::make_unique<MachineClock>() : nullptr),
      clock_(options.clock == nullptr ? own_clock_.get() : options.clock),
      launch_ticks_(clock_->ToTicks(options.emulated.launch_us * 1e3)),
      memory_("emulated device", options.memory_bytes),
      pinned_(options.pinned ? options.pinned : std::make_shared<PinnedMemory>()) {
  capabilities_.kind = Kind::kEmulated;
  capabilities_.name =
      options.emulated_name.empty() ? "emulated" : "emulated: " + options.emulated_name;
  capabilities_.memory_bytes = options.memory_bytes;
  capabilities_.computes = false;
}

Result<Block> EmulatedDevice::Allocate(size_t bytes) {
  STALLSCOPE_RETURN_IF_ERROR(memory_.Take(bytes));
  // Addresses that are never the same and never read.
  const Address step = (bytes / 4096 + 1) * 4096;
  return Block(this, next_address_.fetch_add(step), bytes);
}

void EmulatedDevice::Free(Address, size_t bytes) noexcept { memory_.GiveBack(bytes); }

Result<std::unique_ptr<Stream>> EmulatedDevice::NewStream(const std::string& name,
                                                          trace::TrackKind kind) {
  return std::unique_ptr<Stream>(std::make_unique<EmulatedStream>(*this, name, kind));
}

EmulatedDevice::Slot EmulatedDevice::Reserve(Engine engine, Ticks earliest, Ticks duration) {
  if (engine == kNoEngine) return {earliest, earliest + duration};
  const std::lock_guard<std::mutex> lock(mutex_);
  Ticks& free = engine_free_[engine];
  const Ticks start = std::max(earliest, free);
  free = start + duration;
  return {start, free};
}

Ticks EmulatedDevice::CopyTicks(const CopyRequest& request, bool pinned) const {
  if (request.direction == trace::CopyDirection::kDeviceToDevice) return 0;
  const EmulatedTiming& timing = options_.emulated;
  // Bytes by 10^9 bytes a second are nanoseconds.
  const double rate = pinned ? timing.gbps_pinned : timing.gbps_pageable;
  return clock_->ToTicks(timing.latency_us * 1e3 + static_cast<double>(request.bytes) / rate);
}

Ticks EmulatedDevice::KernelTicks(const Launch& launch) const {
  const EmulatedTiming& timing = options_.emulated;
  if (launch.kernel == Kernel::kAllReduce) {
    // A ring over the link: each replica sends and receives 2 (n - 1) / n of the gradients.
    const auto replicas = static_cast<double>(launch.in.size());
    const double bytes = launch.out.empty() ? 0 : static_cast<double>(launch.out[0].bytes());
    return clock_->ToTicks(timing.latency_us * 1e3 +
                           2 * (replicas - 1) / replicas * bytes / timing.gbps_pinned);
  }
  const StepPart& part = launch.part;
  if (part.of == 0) return 0;
  const double step = (timing.compute_us_per_batch +
                       timing.compute_us_per_sample * static_cast<double>(part.samples)) *
                      1e3 * clock_->TicksPerNs();
  // Both ends are rounded, not the difference: the parts of a step add up to it.
  const auto at = [&](uint64_t numerator) {
    return static_cast<Ticks>(
        std::llround(step * static_cast<double>(numerator) / static_cast<double>(part.of)));
  };
  return at(part.to) - at(part.from);
}

}  // namespace stallscope::device
