// A job put together by hand: a loader, and what each batch and step costs. What the simulation
// makes of it can then be worked out on paper.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "replay/workload/job_costs.h"
#include "replay/workload/workload.h"

namespace stallscope::test {

inline replay::Cost CostMs(double cpu, double blocked = 0) {
  replay::Cost cost;
  cost.cpu_ns = static_cast<float>(cpu * 1e6);
  cost.blocked_ns = static_cast<float>(blocked * 1e6);
  return cost;
}

struct MadeJob {
  // 400 steps of one sample each on 2 cores.
  MadeJob(replay::Cost fetch, replay::Cost step) {
    costs.batches.resize(1);
    costs.batches[0].fetch = fetch;
    costs.steps = {step};
    costs.sends = true;
    costs.start = replay::WorkerStart();
    costs.loader.num_workers = 1;
    costs.loader.batch_size = 1;
    recorded.cores = 2;
    recorded.steps = 400;
    recorded.samples_per_s = 1;
    recorded.trainer.batch = 1;
  }

  // With these settings, as recorded; not calibrated.
  replay::Workload Make() const {
    auto made = std::make_shared<replay::Recorded>(recorded);
    made->spec.name = "job";
    made->spec.stages = {StageSpec{"loader", costs.loader}};
    for (const replay::Evaluation& evaluation : costs.evaluations) {
      made->spec.stages.push_back({evaluation.loader, evaluation.costs->loader});
    }
    made->job = std::make_shared<const replay::JobCosts>(costs);
    replay::Workload workload;
    workload.spec = made->spec;
    workload.recorded = std::move(made);
    return workload;
  }
  // Recorded with `costs.loader`, run with these.
  replay::Workload With(const LoaderSpec& loader) const {
    replay::Workload workload = Make();
    std::get<LoaderSpec>(workload.spec.stages.front().kind) = loader;
    return workload;
  }

  replay::JobCosts costs;
  replay::Recorded recorded;
};

}  // namespace stallscope::test
