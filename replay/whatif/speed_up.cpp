#include "replay/whatif/speed_up.h"

#include <algorithm>
#include <utility>

namespace stallscope::replay {
namespace {

SpeedUpCurve CurveOf(const Workload& workload, const std::string& stage,
                     const std::vector<double>& factors, const SimulateOptions& options) {
  SpeedUpCurve curve;
  curve.stage = stage;
  for (const double factor : factors) {
    Workload faster = workload;
    faster.speed_up[stage] = std::max(factor, 1e-3);
    const Prediction prediction = Simulate(faster, options);
    curve.points.push_back({factor, prediction.samples_per_s, prediction.low, prediction.high});
  }
  return curve;
}

}  // namespace

std::vector<SpeedUpCurve> SpeedUpCurves(const Workload& workload,
                                        const std::vector<double>& factors,
                                        const SimulateOptions& options) {
  std::vector<SpeedUpCurve> curves;
  for (const StageSpec& stage : workload.spec.stages) {
    const auto costs = workload.recorded->stages.find(stage.name);
    const bool works = costs != workload.recorded->stages.end() &&
                       (!costs->second.items.empty() || !costs->second.hits.empty());
    // What a faster stage would gain is unknown if it is seen only from the outside.
    if (works && !workload.recorded->unseen.contains(stage.name))
      curves.push_back(CurveOf(workload, stage.name, factors, options));
  }
  curves.push_back(CurveOf(workload, "trainer", factors, options));
  return curves;
}

}  // namespace stallscope::replay
