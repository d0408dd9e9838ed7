// A workload put together by hand: stages, and a cost for each of them. What the simulation makes
// of it can then be worked out on paper.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "replay/workload/workload.h"

namespace stallscope::test {

// Of a spec.
StageSpec Map(const std::string& name, int64_t parallelism = 1, bool ordered = true);
StageSpec Batch(int64_t size, int64_t parallelism = 1);
StageSpec Prefetch(int64_t buffer_size);
template <class Kind>
StageSpec StageOf(const std::string& name, Kind kind) {
  return StageSpec{name, std::move(kind)};
}

class MadeWorkload {
 public:
  // Behind a synthetic source "read" that costs nothing and never ends. 100 steps on an emulated
  // device that takes `compute_us` for a batch, captured, pinned, with overlap; nothing is copied,
  // and nobody takes time to wake.
  MadeWorkload(std::vector<StageSpec> stages, double compute_us, double cores = 2);

  MadeWorkload& Costs(const std::string& stage, double cpu_us, double blocked_us = 0);
  MadeWorkload& Items(const std::string& stage, std::vector<replay::Cost> items);
  replay::Recorded& recorded() { return *recorded_; }
  Spec& spec() { return recorded_->spec; }
  SourceSpec& source() { return std::get<SourceSpec>(spec().stages.front().kind); }
  // As recorded, not calibrated.
  replay::Workload Make() const;

 private:
  std::shared_ptr<replay::Recorded> recorded_;
};

}  // namespace stallscope::test
