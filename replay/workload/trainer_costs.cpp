#include "replay/workload/trainer_costs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analyzer/attribution/device_use.h"
#include "analyzer/base/math.h"
#include "analyzer/spec/ops.h"

namespace stallscope::replay {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

double Mean(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct OfBatch {
  int64_t compute_ns = 0;  // of all devices
  int64_t ops_ns = 0;      // of it, ops of maps
  int64_t reduce_ns = 0;
  int64_t update_ns = 0;  // of compute_ns, the optimizer's
  std::set<uint64_t> launches;
  uint64_t kernels = 0;
  uint64_t update_kernels = 0;  // the optimizer's and the reduction's
  uint64_t link_bytes = 0;
};

bool IsReduction(std::string_view name) {
  return name.find("all_reduce") != std::string_view::npos ||
         name.find("AllReduce") != std::string_view::npos ||
         name.find("nccl") != std::string_view::npos;
}

// Of the device's kernels (collectors/device/launch.h).
bool IsUpdate(std::string_view name) {
  return name == "sgd" || name == "adam" || name == "check_finite" || name == "update_scale";
}

// "normalize", "cast(float32)"; the step's own kernels have other names, except "cast".
bool IsOpOfAMap(std::string_view name) {
  const size_t arguments = name.find('(');
  if (arguments == std::string_view::npos && name == "cast") return false;
  return FindOp(name.substr(0, arguments)) != nullptr;
}

std::map<ItemId, OfBatch> ByBatch(const model::Run& run, const attribution::Window& window) {
  std::map<ItemId, OfBatch> batches;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (kernel.start_ns < window.start_ns || kernel.end_ns > window.end_ns) continue;
    OfBatch& batch = batches[kernel.batch];
    const bool reduces = IsReduction(run.Text(kernel.name));
    (reduces ? batch.reduce_ns : batch.compute_ns) += kernel.end_ns - kernel.start_ns;
    if (IsOpOfAMap(run.Text(kernel.name))) batch.ops_ns += kernel.end_ns - kernel.start_ns;
    const bool updates = IsUpdate(run.Text(kernel.name));
    if (updates) batch.update_ns += kernel.end_ns - kernel.start_ns;
    if (updates || reduces) ++batch.update_kernels;
    batch.launches.insert(kernel.correlation);
    ++batch.kernels;
  }
  for (const trace::Copy& copy : run.rows.copies) {
    if (copy.direction != trace::CopyDirection::kHostToDevice || !copy.batch.known()) continue;
    if (copy.start_ns < window.start_ns || copy.end_ns > window.end_ns) continue;
    batches[copy.batch].link_bytes += copy.bytes;
  }
  return batches;
}

// The host's time for a step: the trainer's last span before it was issued is the issuing, others
// of the step's batch are the conversion.
struct HostTime {
  std::vector<double> issue_ns;
  std::vector<double> convert_ns;
};

HostTime HostTimeOf(const model::Run& run, const attribution::Window& window) {
  std::map<ItemId, int64_t> issued;
  for (size_t i = window.first_row; i < window.first_row + window.rows; ++i) {
    issued[run.rows.steps[i].batch] = run.rows.steps[i].issued_ns;
  }
  std::map<ItemId, double> convert;
  HostTime time;
  for (const model::Track& track : run.tracks) {
    const StageId stage = track.info.stage;
    if (!model::IsTrainer(run, stage)) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.kind != trace::SpanKind::kWork || what.stage != stage) continue;
      const auto step = issued.find(ItemId{track.spans.item[i]});
      if (step == issued.end()) continue;
      // The issue's span ends just before the time that the step's row has.
      const bool issues = step->second - track.spans.EndNs(i) < 20'000 &&
                          track.spans.EndNs(i) <= step->second + 1'000;
      const auto ns = static_cast<double>(track.spans.DurationNs(i));
      if (issues) {
        time.issue_ns.push_back(ns);
      } else {
        convert[step->first] += ns;
      }
    }
  }
  for (const auto& [batch, ns] : convert) time.convert_ns.push_back(ns);
  return time;
}

// From when the device was done to when the trainer asks again, where it waited for the device.
double TurnOf(const model::Run& run, const attribution::Window& window, bool overlap) {
  std::vector<double> turns;
  const auto& steps = run.rows.steps;
  const size_t end = std::min(steps.size(), window.first_row + window.rows);
  for (size_t i = window.first_row; i + 1 < end; ++i) {
    // With a step in flight the trainer waits for the one before.
    if (overlap && i == window.first_row) continue;
    const trace::Step& awaited = overlap ? steps[i - 1] : steps[i];
    if (awaited.device_done_ns <= steps[i].issued_ns) continue;
    const int64_t turn = steps[i + 1].requested_ns - awaited.device_done_ns;
    if (turn >= 0) turns.push_back(static_cast<double>(turn));
  }
  return turns.empty() ? 0 : Median(std::move(turns));
}

void TakeLink(const model::Run& run, const attribution::Window& window, TrainerCosts& costs) {
  double bytes = 0;
  double ns = 0;
  for (const trace::Copy& copy : run.rows.copies) {
    if (copy.direction != trace::CopyDirection::kHostToDevice || !copy.batch.known()) continue;
    if (copy.start_ns < window.start_ns || copy.end_ns > window.end_ns) continue;
    bytes += static_cast<double>(copy.bytes);
    ns += static_cast<double>(copy.end_ns - copy.start_ns);
  }
  if (ns > 0) costs.link_bytes_per_ns = bytes / ns;
}

}  // namespace

TrainerCosts CostsOfSteps(const model::Run& run, const attribution::Attribution& attribution,
                          const Spec& spec) {
  const attribution::Window& window = attribution.window;
  TrainerCosts costs;
  double samples = 0;
  for (const auto& step : attribution.steps) samples += step.samples;
  costs.batch = std::max(1.0, samples / static_cast<double>(attribution.steps.size()));
  const auto replicas = static_cast<double>(std::max<int64_t>(1, spec.trainer.strategy.replicas));
  // A median would not show what only one step in several does.
  const auto of_step = [&](std::vector<double> values) {
    return spec.trainer.accumulate > 1 ? Mean(values) : Median(std::move(values));
  };

  std::vector<double> reduce;
  std::vector<double> update;
  std::vector<double> update_kernels;
  std::vector<double> ops;
  std::vector<double> kernels;
  std::vector<double> launches;
  std::vector<double> bytes;
  for (const auto& [id, batch] : ByBatch(run, window)) {
    if (batch.kernels > 0) {
      Cost cost;
      cost.cpu_ns = static_cast<float>(static_cast<double>(batch.compute_ns) / replicas);
      costs.compute.push_back(cost);
      if (spec.trainer.accumulate == 1 || batch.update_kernels > 0) {
        reduce.push_back(static_cast<double>(batch.reduce_ns) / replicas);
        update.push_back(static_cast<double>(batch.update_ns) / replicas);
        update_kernels.push_back(static_cast<double>(batch.update_kernels) / replicas);
      }
      ops.push_back(static_cast<double>(batch.ops_ns) / replicas);
      kernels.push_back(static_cast<double>(batch.kernels) / replicas);
      launches.push_back(static_cast<double>(batch.launches.size()) / replicas);
    }
    if (batch.link_bytes > 0) bytes.push_back(static_cast<double>(batch.link_bytes));
  }
  costs.reduce_ns = Median(std::move(reduce));
  costs.update_ns = Median(std::move(update));
  costs.update_kernels = Median(std::move(update_kernels));
  costs.ops_ns = Median(std::move(ops));
  costs.kernels = of_step(std::move(kernels));
  costs.launches = of_step(std::move(launches));
  costs.neighbors = attribution::ShareOfElementwiseNeighbors(run);
  costs.sample_bytes = Median(std::move(bytes)) / costs.batch;
  TakeLink(run, window, costs);
  if (spec.trainer.device == TrainerDevice::kHost) costs.device_cores = replicas;

  HostTime host = HostTimeOf(run, window);
  costs.issue_ns = of_step(std::move(host.issue_ns));
  costs.convert_ns = Median(std::move(host.convert_ns));
  if (spec.trainer.device == TrainerDevice::kEmulated) {
    const double launch_ns = Resolved(spec.trainer.emulated).launch_us * 1e3;
    costs.issue_ns = std::max(0.0, costs.issue_ns - launch_ns * costs.launches * replicas);
  }
  costs.turn_ns = TurnOf(run, window, spec.transfer.overlap);
  return costs;
}

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
