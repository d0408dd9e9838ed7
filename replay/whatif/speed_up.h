// Virtual speed-up: what the run would gain if one stage were faster, whether or not there is a
// knob for that. Any thread.
#pragma once

#include <string>
#include <vector>

#include "replay/simulate/simulate.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct SpeedUpPoint {
  double factor = 1;  // of the stage's speed
  double samples_per_s = 0;
  double low = 0;  // 90%
  double high = 0;
};

struct SpeedUpCurve {
  std::string stage;  // the last one is "trainer": the step without its input
  std::vector<SpeedUpPoint> points;
};

// One curve per stage with a cost, in the spec's order. The workload should be calibrated.
std::vector<SpeedUpCurve> SpeedUpCurves(const Workload& workload,
                                        const std::vector<double>& factors = {1, 1.25, 1.5, 2, 4,
                                                                              8},
                                        const SimulateOptions& options = {});

}  // namespace stallscope::replay
