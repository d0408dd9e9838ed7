#include "replay/rerun/emulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "analyzer/base/units.h"
#include "analyzer/spec/validate.h"

namespace stallscope::replay {
namespace {

constexpr double kUsPerNs = 1.0 / kNsPerUs;
// With fewer items a step of the stairs is one item's chance.
constexpr size_t kFewestItems = 4;
constexpr size_t kMostSteps = 10;
constexpr double kSmallestStepUs = 1;

double MeanOf(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void AddOps(std::vector<std::string>& ops, const char* op, const std::vector<double>& stairs) {
  for (size_t step = 0; step < stairs.size(); ++step) {
    if (stairs[step] < kSmallestStepUs / 10) continue;
    ops.push_back(step == 0
                      ? fmt::format("{}({:.1f})", op, stairs[step])
                      : fmt::format("{}({:.1f}, every={})", op, stairs[step], uint64_t{1} << step));
  }
}

std::vector<std::string> OpsOf(const StageCosts& costs) {
  std::vector<double> busy;
  std::vector<double> sleep;
  for (const Cost& cost : costs.items) {
    busy.push_back(cost.cpu_ns * kUsPerNs);
    sleep.push_back((cost.blocked_ns + cost.io_ns) * kUsPerNs);
  }
  std::vector<std::string> ops;
  AddOps(ops, "busy", CostStairs(std::move(busy)));
  AddOps(ops, "sleep", CostStairs(std::move(sleep)));
  return ops;
}

// Bytes that a sample has before the copy makes it `dtype`.
int64_t BytesOfElement(const Recorded& recorded, TransferDtype dtype) {
  const double each = dtype == TransferDtype::kUint8 ? 1 : dtype == TransferDtype::kFloat16 ? 2 : 4;
  return std::max<int64_t>(std::llround(recorded.trainer.sample_bytes / each), 1);
}

const StageCosts* CostsOf(const Recorded& recorded, const std::string& stage) {
  const auto found = recorded.stages.find(stage);
  return found == recorded.stages.end() ? nullptr : &found->second;
}

SourceSpec EmulatedSource(const SourceSpec& source, const Recorded& recorded,
                          const StageCosts* costs) {
  SourceSpec made_up;
  made_up.format = SourceFormat::kSynthetic;
  made_up.parallelism = source.parallelism;
  made_up.deterministic = source.deterministic;
  made_up.bytes = BytesOfElement(recorded, recorded.spec.transfer.dtype);
  const double samples = static_cast<double>(recorded.steps + 1) * recorded.trainer.batch;
  // Where no pass was seen to end, enough for a run many times as long.
  made_up.elements = static_cast<int64_t>(
      recorded.elements_per_epoch.value_or(static_cast<uint64_t>(samples * 100) + 1000));
  if (costs != nullptr) {
    made_up.busy_us = costs->mean_cpu_ns * kUsPerNs;
    made_up.sleep_us = (costs->mean_blocked_ns + costs->mean_io_ns) * kUsPerNs;
  }
  return made_up;
}

// The device's own figures where it was emulated; else a step of the recorded length, in proportion
// to the batch, as a device that is full has it.
EmulatedSpec EmulatedDevice(const Recorded& recorded) {
  const TrainerCosts& trainer = recorded.trainer;
  EmulatedSpec device;
  std::vector<double> compute;
  for (const Cost& step : trainer.compute) compute.push_back(step.cpu_ns);
  device.compute_us_per_sample = MeanOf(compute) * kUsPerNs / std::max(trainer.batch, 1.0);
  if (trainer.link_bytes_per_ns > 0) {
    device.h2d_gbps_pinned = trainer.link_bytes_per_ns;
    device.h2d_gbps_pageable = trainer.link_bytes_per_ns;
    device.h2d_latency_us = trainer.link_latency_ns * kUsPerNs;
  }
  return device;
}

// Collects the stages of the emulation.
class Maker {
 public:
  Maker(const Recorded& recorded, Emulation& made) : recorded_(recorded), made_(made) {}

  void Add(const StageSpec& stage) {
    const StageCosts* const costs = CostsOf(recorded_, stage.name);
    if (const auto* source = std::get_if<SourceSpec>(&stage.kind)) {
      return Keep({stage.name, EmulatedSource(*source, recorded_, costs)});
    }
    if (const auto* map = std::get_if<MapSpec>(&stage.kind)) return AddMap(stage, *map, costs);
    if (std::holds_alternative<FilterSpec>(stage.kind)) return AddFilter(stage, costs);
    if (std::holds_alternative<SnapshotSpec>(stage.kind)) {
      return Limit(stage.name, "a snapshot belongs to the recorded data");
    }
    StageSpec kept = stage;
    if (auto* cache = std::get_if<CacheSpec>(&kept.kind)) cache->path.clear();
    if (auto* batch = std::get_if<BatchSpec>(&kept.kind)) batch->pad = false;
    Keep(std::move(kept));
  }

 private:
  void AddMap(const StageSpec& stage, const MapSpec& map, const StageCosts* costs) {
    if (map.on == MapOn::kDevice) return Limit(stage.name, "maps on the device are left out");
    MapSpec emulated = map;
    emulated.ops = costs != nullptr ? OpsOf(*costs) : std::vector<std::string>();
    Keep({stage.name, std::move(emulated)});
  }

  void AddFilter(const StageSpec& stage, const StageCosts* costs) {
    const double kept = costs != nullptr ? std::clamp(costs->kept, 0.0, 1.0) : 1.0;
    Keep({stage.name, FilterSpec{fmt::format("keep_fraction({:.6f})", kept)}});
  }

  void Keep(StageSpec stage) { made_.spec.stages.push_back(std::move(stage)); }
  void Limit(const std::string& stage, const char* why) {
    made_.limits.push_back(stage + " is not in the emulation: " + why);
  }

  const Recorded& recorded_;
  Emulation& made_;
};

}  // namespace

std::vector<double> CostStairs(std::vector<double> us) {
  if (us.empty()) return {};
  std::sort(us.begin(), us.end());
  if (us.size() < kFewestItems) return {MeanOf(us)};
  // Level k is the mean of the items between the quantiles 1 - 2^-k and 1 - 2^-(k+1); the last one
  // takes all that is above it.
  std::vector<double> levels;
  const std::span<const double> all = us;
  for (size_t from = 0; from < all.size() && levels.size() < kMostSteps;) {
    const size_t left = all.size() - from;
    const bool last = levels.size() + 1 == kMostSteps || left < 2 * kFewestItems;
    const size_t take = last ? left : left / 2;
    levels.push_back(MeanOf(all.subspan(from, take)));
    from += take;
  }
  std::vector<double> stairs{levels.front()};
  for (size_t k = 1; k < levels.size(); ++k) stairs.push_back(levels[k] - levels[k - 1]);
  // An item in 2^k pays every step up to k, so the stairs' mean is the sum of step / 2^k: that is
  // the levels' mean by their shares, up to the odd item that a half leaves over.
  double mean = 0;
  for (size_t k = 0; k < stairs.size(); ++k) mean += std::ldexp(stairs[k], -static_cast<int>(k));
  const double wanted = MeanOf(all);
  if (mean > 0) {
    for (double& step : stairs) step *= wanted / mean;
  }
  while (stairs.size() > 1 && stairs.back() < kSmallestStepUs) {
    stairs.front() += std::ldexp(stairs.back(), -static_cast<int>(stairs.size() - 1));
    stairs.pop_back();
  }
  return wanted > 0 ? stairs : std::vector<double>();
}

Result<Emulation> Emulate(const Recorded& recorded) {
  Emulation made;
  made.spec = recorded.spec;
  made.spec.stages.clear();
  made.spec.rewrites = {};
  Maker maker(recorded, made);
  for (const StageSpec& stage : recorded.spec.stages) maker.Add(stage);
  TrainerSpec& trainer = made.spec.trainer;
  if (trainer.device != TrainerDevice::kEmulated || recorded.made_up_spec) {
    trainer.device = TrainerDevice::kEmulated;
    trainer.emulated = EmulatedDevice(recorded);
    made.limits.emplace_back("the device is emulated at the recorded mean per step");
  }
  if (Status valid = Validate(made.spec, "the emulated spec"); !valid.ok()) {
    return Error{ErrorKind::kInput, "cannot emulate the run: " + valid.error().Line(), "", ""};
  }
  return made;
}

}  // namespace stallscope::replay
