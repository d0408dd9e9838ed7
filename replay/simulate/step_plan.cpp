#include "replay/simulate/step_plan.h"

#include <algorithm>
#include <cmath>

namespace stallscope::replay {
namespace {

// The share of an update that each step bears.
double UpdatesPerStep(const TrainerSpec& trainer) {
  return 1 / static_cast<double>(trainer.accumulate);
}

// What accumulating adds to a step and, as a share, to an update: one kernel adds the batch's
// gradients to the sum, one sets that to zero.
double SumKernels(const TrainerSpec& trainer) {
  return trainer.accumulate > 1 ? 1 + UpdatesPerStep(trainer) : 0;
}

// The kernels' time, by the memory that they pass over: three arenas to add and one to set, of the
// five of SGD or the seven of Adam.
double SumNs(const TrainerSpec& trainer, double update_ns) {
  if (trainer.accumulate == 1) return 0;
  const double arenas = trainer.optimizer.kind == OptimizerKind::kAdam ? 7 : 5;
  return update_ns * (3 + UpdatesPerStep(trainer)) / arenas;
}

const OpChange kSameOps;

const OpChange& OpsOf(const Workload& workload) {
  return workload.ops != nullptr ? *workload.ops : kSameOps;
}

// Ops of maps on the device: of a replica, for a step.
double MapsNs(const Workload& workload, double samples, double replicas, Ends ends) {
  const ChangedCost& change = OpsOf(workload).device;
  const TrainerCosts& costs = workload.recorded->trainer;
  return change.scale * costs.ops_ns * samples / std::max(1.0, costs.batch) +
         change.more_cpu_ns * At(ends, change.error) * samples / replicas;
}

// An accelerator's launches of a step that is not captured and was, or the other way round, or that
// has another share of an update.
double LaunchesOf(const Workload& workload, double replicas) {
  const Recorded& recorded = *workload.recorded;
  const TrainerSpec& before = recorded.spec.trainer;
  const TrainerSpec& now = workload.spec.trainer;
  const double maps = OpsOf(workload).device_launches;
  const double left = now.fuse && !before.fuse ? 1 - recorded.trainer.neighbors : 1;
  if (now.graph == before.graph && now.accumulate == before.accumulate) {
    const bool eager = now.graph == GraphMode::kEager;
    return recorded.trainer.launches * (eager ? left : 1) + maps;
  }
  const double updates = UpdatesPerStep(now);
  if (now.graph == GraphMode::kEager) {
    return std::max(1.0, recorded.trainer.kernels * left + maps +
                             recorded.trainer.update_kernels * (updates - UpdatesPerStep(before)) +
                             SumKernels(now) - SumKernels(before));
  }
  // What stands between the gradients and the update cuts the graph in two.
  const bool sums = now.accumulate > 1;
  const double between = (replicas > 1 ? 1 : 0) + (sums ? 1 : 0);
  return (between > 0 ? 1 + (1 + between) * updates : 1) + maps;
}

void PlanEmulated(const Workload& workload, double replicas, Ends ends, StepPlan& plan) {
  const TrainerSpec& trainer = workload.spec.trainer;
  const TrainerCosts& costs = workload.recorded->trainer;
  const EmulatedSpec figures = Resolved(trainer.emulated);
  const double shard = std::ceil(plan.samples / replicas);
  plan.compute_ns = (figures.compute_us_per_batch + figures.compute_us_per_sample * shard) * 1e3 /
                    EmulatedSpeed(trainer);
  const double rate =
      workload.spec.transfer.pinned ? figures.h2d_gbps_pinned : figures.h2d_gbps_pageable;
  const double bytes = costs.sample_bytes * OpsOf(workload).link_bytes * plan.samples /
                       (plan.copy_blocks ? 1 : replicas);
  const auto streams = static_cast<double>(workload.spec.transfer.streams);
  plan.copy_ns =
      figures.h2d_latency_us * 1e3 * streams * (plan.copy_blocks ? replicas : 1) + bytes / rate;
  const double launches = LaunchesOf(workload, replicas);
  const double launch_ns = replicas * figures.launch_us * 1e3;
  plan.issue_wait_ns = launches * launch_ns;
  if (costs.launches > 0) {
    const double left = launches / costs.launches;
    // What is not explained of a step came with its launches, as far as it consisted of them.
    const double issued_ns = costs.issue_ns + costs.launches * launch_ns;
    const double steps_per_ns = workload.recorded->samples_per_s / costs.batch / 1e9;
    plan.extra_ns *= 1 - std::min(1.0, issued_ns * steps_per_ns) * (1 - left);
    // What else issuing takes is the trainer's work for each launch.
    plan.issue_cpu_ns *= left;
  }
  if (trainer.graph == GraphMode::kEager && costs.kernels > 0) {
    plan.last_kernel_ns = plan.compute_ns / costs.kernels;
  }
  // Summing the gradients takes as long as recorded, and ops of maps as long per sample.
  plan.compute_ns +=
      costs.reduce_ns * UpdatesPerStep(trainer) + MapsNs(workload, plan.samples, replicas, ends);
}

void PlanRecorded(const Workload& workload, double replicas, Ends ends, StepPlan& plan) {
  const TrainerCosts& costs = workload.recorded->trainer;
  const TrainerSpec& before = workload.recorded->spec.trainer;
  const TrainerSpec& now = workload.spec.trainer;
  const double ratio = plan.samples / std::max(1.0, costs.batch);
  plan.compute = &costs.compute;
  plan.compute_scale = ratio;
  plan.compute_ns = costs.reduce_ns * UpdatesPerStep(now) +
                    costs.update_ns * (UpdatesPerStep(now) - UpdatesPerStep(before)) +
                    SumNs(now, costs.update_ns) - SumNs(before, costs.update_ns) +
                    MapsNs(workload, plan.samples, replicas, ends) -
                    costs.ops_ns * ratio;  // which the recorded kernels contain
  if (costs.device_cores > 0) {
    plan.host_threads = std::max(1u, static_cast<unsigned>(std::lround(costs.device_cores)));
  }
  if (costs.link_bytes_per_ns > 0) {
    plan.copy_ns = costs.link_latency_ns + costs.sample_bytes * OpsOf(workload).link_bytes *
                                               plan.samples / costs.link_bytes_per_ns;
  }
}

}  // namespace

StepPlan StepPlanOf(const Workload& workload, Ends ends) {
  const TransferSpec& transfer = workload.spec.transfer;
  const TrainerCosts& costs = workload.recorded->trainer;
  StepPlan plan;
  plan.samples = static_cast<double>(BatchSize(workload.spec));
  const auto replicas = static_cast<double>(workload.spec.trainer.strategy.replicas);
  const double ratio = plan.samples / std::max(1.0, costs.batch);
  plan.in_flight = transfer.overlap ? 1 : 0;
  plan.device_prefetch = static_cast<uint64_t>(transfer.prefetch_to_device);
  const ChangedCost& convert = OpsOf(workload).convert;
  plan.convert_ns =
      (costs.convert_ns * convert.scale * ratio + convert.more_cpu_ns * plan.samples) *
      At(ends, convert.error);
  plan.issue_cpu_ns = costs.issue_ns;
  plan.turn_ns = costs.turn_ns;
  const bool emulated =
      workload.spec.trainer.device == TrainerDevice::kEmulated && !workload.recorded->made_up_spec;
  plan.copy_blocks = !transfer.pinned && emulated;
  if (workload.calibration.has_value()) plan.extra_ns = workload.calibration->step_extra_ns;
  if (emulated) {
    PlanEmulated(workload, replicas, ends, plan);
  } else {
    PlanRecorded(workload, replicas, ends, plan);
  }
  return plan;
}

}  // namespace stallscope::replay
