#include "analyzer/findings/device_time.h"

#include <cmath>

namespace stallscope::findings {

using attribution::At;
using attribution::Category;

Effect WithExposedTimes(Category category, std::array<double, 3> sizes) {
  return {[category](Load& load, double size) { load.exposed_s[At(category)] *= size; }, sizes};
}

Effect WithLargerBatch(StageId batch, double factor, std::array<double, 3> sizes) {
  return {[batch, factor](Load& load, double size) {
            load.batch *= factor;
            load.exposed_s[At(Category::kCompute)] *= std::pow(size, std::log2(factor));
            load.exposed_s[At(Category::kTransfer)] *= factor;
            load.held_s *= factor;
            StageLoad* stage = load.Find(batch);
            if (stage == nullptr) return;
            stage->items /= factor;
            stage->service_s *= factor;
            stage->cpu_s *= factor;
          },
          sizes};
}

// An emulated link says its speeds. Of a real one the run tells only one of them: pinned memory is
// 1.5 to 4 times as fast on PCIe 3 to 5.
std::array<double, 3> LeftWhenPinned(const Case& c) {
  if (c.spec.has_value() && c.spec->transfer.pinned) return {1, 1, 1};
  const bool emulated = c.spec.has_value() && c.spec->trainer.device == TrainerDevice::kEmulated;
  if (!emulated) return {0.67, 0.4, 0.25};
  const EmulatedSpec link = Resolved(c.spec->trainer.emulated);
  const double left = link.h2d_gbps_pageable / link.h2d_gbps_pinned;
  return {left, left, left};
}

CopiesToDevice CopiesOf(const Case& c) {
  CopiesToDevice sum;
  for (const auto& device : c.attribution.devices) {
    for (const auto& copies : device.copies) {
      if (copies.direction != trace::CopyDirection::kHostToDevice) continue;
      sum.count += copies.count;
      sum.bytes += copies.bytes;
      sum.ns += copies.ns;
      if (copies.memory == trace::CopyMemory::kPageable) sum.pageable += copies.count;
    }
  }
  return sum;
}

}  // namespace stallscope::findings
