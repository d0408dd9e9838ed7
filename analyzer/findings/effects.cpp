#include "analyzer/findings/effects.h"

#include <algorithm>
#include <cmath>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

// How much compute grows with the batch. An emulated device defines it; a run with batches of one
// size does not show it of a real one.
Assumed GrowthWithBatch(const Case& c, double factor) {
  if (!IsEmulated(c)) {
    return {std::pow(factor, kComputeGrowth[0]), std::pow(factor, kComputeGrowth[1]),
            std::pow(factor, kComputeGrowth[2])};
  }
  const double growth = 1 + (factor - 1) * (1 - FixedPartOfCompute(c));
  return {growth, growth, growth};
}

}  // namespace

double FixedPartOfCompute(const Case& c) {
  if (!IsEmulated(c)) return 0;
  const auto batch = FirstOf<BatchSpec>(*c.spec);
  if (batch >= c.spec->stages.size()) return 0;
  const EmulatedSpec device = Resolved(c.spec->trainer.emulated);
  const auto replicas =
      static_cast<double>(std::max<int64_t>(c.spec->trainer.strategy.replicas, 1));
  const double samples_us = device.compute_us_per_sample / replicas *
                            static_cast<double>(As<BatchSpec>(c.spec->stages[batch])->size);
  const double all_us = device.compute_us_per_batch + samples_us;
  return all_us > 0 ? device.compute_us_per_batch / all_us : 1;
}

double LatencyPartOfCopies(const Case& c) {
  const CopiesToDevice copies = CopiesOf(c);
  if (copies.count == 0 || copies.ns <= 0) return 0;
  const auto count = static_cast<double>(copies.count);
  if (IsEmulated(c)) {
    const double latency_ns = Resolved(c.spec->trainer.emulated).h2d_latency_us * 1e3;
    return std::min(1.0, latency_ns * count / static_cast<double>(copies.ns));
  }
  // A copy of kSmallCopyBytes takes twice its latency.
  const auto small = static_cast<double>(kSmallCopyBytes);
  return small / (small + static_cast<double>(copies.bytes) / count);
}

int64_t WorkersToHide(double share) {
  const double rest = std::max(kLeastRestOfStep, 1 - share);
  return std::clamp<int64_t>(std::llround(std::ceil(share / rest)) + 1, 2, kMostWorkers);
}

int64_t WorkersFor(const Load* load, StageId stage, int64_t now, int64_t most) {
  Load copy = load != nullptr ? *load : Load();
  const StageDemand* use = copy.Find(stage);
  if (use == nullptr || use->service_s <= 0) return std::min(now + 1, most);
  // What the cores can feed is all that a trainer of unknown speed can ask for.
  double wanted = ConsumerSamplesPerSecond(copy);
  if (!std::isfinite(wanted)) wanted = copy.measured * std::max(2.0, copy.cores);
  double workers = std::ceil(wanted * use->items * use->service_s * kWorkerHeadroom);
  const double burned = std::min(1.0, use->cpu_s / use->service_s);
  if (copy.cores > 0 && burned > 0) workers = std::min(workers, std::ceil(copy.cores / burned));
  int64_t least = now + 1;
  if (copy.cores > 0 && !use->cpu_known) {
    workers = std::min(workers, std::floor(copy.cores));
    least = now;
  }
  const double bounded = std::min(workers, static_cast<double>(most));
  return std::clamp(static_cast<int64_t>(bounded), std::min(least, most), most);
}

Effect WithWorkers(StageId stage, int64_t workers) {
  return {.apply =
              [stage, workers](Load& load, double) {
                StageDemand* use = load.Find(stage);
                if (use == nullptr) return;
                use->own_threads = true;
                use->workers = std::max(use->workers, static_cast<double>(workers));
                use->places = std::max(use->places, static_cast<double>(workers));
              },
          .side_by_side = true};
}

Effect WithTimeTimes(StageId stage, const Assumed& sizes) {
  return {[stage](Load& load, double size) {
            StageDemand* use = load.Find(stage);
            if (use == nullptr) return;
            use->service_s *= size;
            use->cpu_s *= size;
          },
          sizes};
}

void PrepareAhead(Load& load, int64_t batches) {
  if (load.stages.empty()) return;
  StageDemand stage;
  stage.own_threads = true;
  stage.items = 1 / std::max(1.0, load.batch);
  stage.places = static_cast<double>(batches);
  load.stages.push_back(stage);
}

Effect WithExposedTimes(Category category, const Assumed& sizes) {
  return {[category](Load& load, double size) { load.exposed_s[At(category)] *= size; }, sizes};
}

Effect WithLargerBatch(const Case& c, StageId batch, double factor, double fewer) {
  const double latency = LatencyPartOfCopies(c);
  return {[batch, factor, fewer, latency](Load& load, double size) {
            load.batch *= factor;
            load.exposed_s[At(Category::kCommunication)] *= fewer;
            load.exposed_s[At(Category::kCompute)] *= size;
            load.exposed_s[At(Category::kTransfer)] *= latency + (1 - latency) * factor;
            load.held_s *= factor;
            StageDemand* stage = load.Find(batch);
            if (stage == nullptr) return;
            stage->items /= factor;
            stage->service_s *= factor;
            stage->cpu_s *= factor;
          },
          GrowthWithBatch(c, factor)};
}

// An emulated link defines both speeds; of a real one the run shows only one. Copies from memory of
// which the trace says nothing gain as much as pageable ones at best, and nothing at worst.
Assumed LeftWhenPinned(const Case& c) {
  if (c.spec.has_value() && c.spec->transfer.pinned) return {1, 1, 1};
  if (IsEmulated(c)) {
    const EmulatedSpec link = Resolved(c.spec->trainer.emulated);
    const double left = link.h2d_gbps_pageable / link.h2d_gbps_pinned;
    return {left, left, left};
  }
  if (c.spec.has_value()) return kLeftWhenPinned;
  const CopiesToDevice copies = CopiesOf(c);
  if (copies.count == 0) return {1, 1, 1};
  const auto share = [&](uint64_t part) {
    return static_cast<double>(part) / static_cast<double>(copies.count);
  };
  const double pageable = share(copies.pageable);
  const double perhaps = share(copies.count - copies.pinned);
  return {1 - pageable * (1 - kLeftWhenPinned[0]), 1 - pageable * (1 - kLeftWhenPinned[1]),
          1 - perhaps * (1 - kLeftWhenPinned[2])};
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
      if (copies.memory == trace::CopyMemory::kPinned) sum.pinned += copies.count;
    }
  }
  return sum;
}

}  // namespace stallscope::findings
