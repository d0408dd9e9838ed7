// Whose recorded costs the batches, steps and passes of a simulated job have. Private to the room;
// one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/workload/job_costs.h"

namespace stallscope::replay {

class JobDraw {
 public:
  // `costs` must outlive the object. `seed` 1 takes them from their beginning, another one from
  // somewhere.
  JobDraw(const JobCosts& costs, uint32_t workers, uint64_t seed);

  // Of the job's batch of that number, counted over all passes.
  const BatchCost& Batch(uint64_t number) const;
  // The same where a worker makes it, after `produced` others in this pass: of an iterable data
  // set, one of its own.
  const BatchCost& BatchOf(uint32_t worker, uint64_t produced, uint64_t number) const;
  // True if the worker's share of the data has no more than it has produced.
  bool ShareEnds(uint32_t worker, uint64_t produced) const;
  // The recorded step of this step.
  size_t Step(size_t number) const { return (number + shift_) % costs_.steps.size(); }
  // In batches that have `samples_scale` as many samples as the recorded ones; without an end where
  // the workers' shares end it.
  uint64_t LengthOfPass(uint64_t pass, double samples_scale) const;

 private:
  const JobCosts& costs_;
  uint64_t shift_ = 0;
  std::vector<std::vector<uint64_t>> of_worker_;  // batches, where each worker has its own data
};

}  // namespace stallscope::replay
