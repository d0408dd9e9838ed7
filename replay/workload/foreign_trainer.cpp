#include "replay/workload/foreign_trainer.h"

#include <algorithm>
#include <cstdint>

namespace stallscope::replay {
namespace {

using attribution::Category;

// A tenth: clocks and the ends of spans differ by less.
constexpr double kHidden = 1.1;

double MeanOf(const attribution::Attribution& attribution, Category category) {
  double sum = 0;
  for (const auto& step : attribution.steps) {
    sum += static_cast<double>(step.ns[attribution::At(category)]);
  }
  return sum / static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
}

double BytesToDevice(const model::Run& run, const attribution::Attribution& attribution) {
  double bytes = 0;
  for (const trace::Copy& copy : run.rows.copies) {
    if (copy.direction != trace::CopyDirection::kHostToDevice) continue;
    if (copy.start_ns < attribution.window.start_ns || copy.end_ns > attribution.window.end_ns) {
      continue;
    }
    bytes += static_cast<double>(copy.bytes);
  }
  return bytes / static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
}

}  // namespace

TrainerCosts CostsOfForeignSteps(const model::Run& run, const attribution::Attribution& attribution,
                                 double batch) {
  TrainerCosts costs;
  costs.batch = std::max(1.0, batch);
  const auto steps = static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
  for (const auto& step : attribution.steps) {
    Cost cost;
    cost.cpu_ns = static_cast<float>(step.ns[attribution::At(Category::kCompute)]);
    costs.compute.push_back(cost);
  }
  costs.reduce_ns = MeanOf(attribution, Category::kCommunication);
  costs.issue_ns = MeanOf(attribution, Category::kLaunch) + MeanOf(attribution, Category::kOther);
  costs.turn_ns = MeanOf(attribution, Category::kSync);
  costs.device_cores = attribution.devices.empty() ? 1 : 0;
  uint64_t kernels = 0;
  for (const auto& kernel : attribution.kernels) kernels += kernel.count;
  costs.kernels = costs.launches = static_cast<double>(kernels) / steps;
  const double bytes = BytesToDevice(run, attribution);
  costs.sample_bytes = bytes / costs.batch;
  const double exposed_ns = MeanOf(attribution, Category::kTransfer);
  if (bytes > 0 && exposed_ns > 0) {
    costs.link_bytes_per_ns = bytes / exposed_ns;
  } else {
    costs.convert_ns = exposed_ns;  // back from the device, or of unknown size
  }
  return costs;
}

bool AsksAhead(const model::Run& run, const attribution::Attribution& attribution) {
  if (attribution.devices.empty()) return false;
  double waited = 0;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (!model::IsBatchWait(run.ClassOf(track, i))) continue;
      if (track.spans.start_ns[i] < attribution.window.start_ns ||
          track.spans.EndNs(i) > attribution.window.end_ns) {
        continue;
      }
      waited += static_cast<double>(track.spans.DurationNs(i));
    }
  }
  const double stalled = MeanOf(attribution, Category::kInputStall) *
                         static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
  return waited > kHidden * stalled;
}

std::vector<Cost> WaitsOfSteps(const attribution::Attribution& attribution) {
  std::vector<Cost> waits;
  for (const auto& step : attribution.steps) {
    Cost cost;
    cost.blocked_ns = static_cast<float>(step.ns[attribution::At(Category::kInputStall)]);
    waits.push_back(cost);
  }
  return waits;
}

}  // namespace stallscope::replay
