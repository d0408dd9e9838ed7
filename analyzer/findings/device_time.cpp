#include "analyzer/findings/device_time.h"

#include <algorithm>
#include <cmath>

#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

using attribution::At;
using attribution::Category;

Effect WithExposedTimes(Category category, std::array<double, 3> sizes) {
  return {[category](Load& load, double size) { load.exposed_s[At(category)] *= size; }, sizes};
}

namespace {

// How much the computing grows with the batch. An emulated device says it; of a real one a run
// with batches of one size does not tell: by the factor at worst, less where a small batch leaves
// units idle.
std::array<double, 3> GrowthWithBatch(const Case& c, double factor) {
  const bool emulated = c.spec.has_value() && c.spec->trainer.device == TrainerDevice::kEmulated;
  if (!emulated) return {factor, std::pow(factor, 0.96), std::pow(factor, 0.85)};
  const auto batch = FirstOf<BatchSpec>(*c.spec);
  if (batch >= c.spec->stages.size()) return {factor, factor, factor};
  const EmulatedSpec device = Resolved(c.spec->trainer.emulated);
  const auto replicas =
      static_cast<double>(std::max<int64_t>(c.spec->trainer.strategy.replicas, 1));
  const double samples_us = device.compute_us_per_sample / replicas *
                            static_cast<double>(As<BatchSpec>(c.spec->stages[batch])->size);
  const double now_us = device.compute_us_per_batch + samples_us;
  const double growth = now_us > 0 ? (now_us + (factor - 1) * samples_us) / now_us : 1;
  return {growth, growth, growth};
}

}  // namespace

Effect WithLargerBatch(const Case& c, StageId batch, double factor) {
  return {[batch, factor](Load& load, double size) {
            load.batch *= factor;
            load.exposed_s[At(Category::kCompute)] *= size;
            load.exposed_s[At(Category::kTransfer)] *= factor;
            load.held_s *= factor;
            StageLoad* stage = load.Find(batch);
            if (stage == nullptr) return;
            stage->items /= factor;
            stage->service_s *= factor;
            stage->cpu_s *= factor;
          },
          GrowthWithBatch(c, factor)};
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
