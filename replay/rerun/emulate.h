// A spec whose stages cost what a run's stages did, without its data and code: for replays where
// the data is gone, or another program recorded the run.
//
// Each stage keeps its name and its knobs, so that the same changes can be tried. What it does is
// burn CPU and sleep by the recorded distribution: the lower half of the items at its mean, above
// that a staircase that halves the items with every step (the mean is kept exactly). A source that
// read files makes elements of the size that the trainer got. An accelerator is replaced by the
// emulated one with the recorded step time. Reports call such a run emulated. Any thread.
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct Emulation {
  Spec spec;                        // valid
  std::vector<std::string> limits;  // what it lacks compared with the run
};

// An error (kInput) where the run does not show what its stages cost.
Result<Emulation> Emulate(const Recorded& recorded);

// The steps of the staircase for one kind of cost: one item in 2^k pays [k]. Steps below a
// microsecond are added to the first. Empty where the cost is zero.
std::vector<double> CostStairs(std::vector<double> us);

}  // namespace stallscope::replay
