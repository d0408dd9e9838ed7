// Prices configurations by simulation. Made from one recorded run, and from probe runs for what
// that run cannot tell. Predict may be called by any thread while nobody adds a probe.
#ifndef STALLSCOPE_REPLAY_SWEEP_PREDICTOR_H_
#define STALLSCOPE_REPLAY_SWEEP_PREDICTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"
#include "replay/simulate/simulate.h"
#include "replay/sweep/sweep.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct Price {
  std::optional<Rate> rate;
  std::optional<uint64_t> memory_bytes;
  std::string unpriced;    // why there is no rate, and what would tell
  std::string bottleneck;  // a stage, "trainer" or "cores"; empty where there is no rate
  double input_stall = 0;  // share of the step time
};

class Predictor {
 public:
  // An error where the run does not tell what its stages cost.
  static Result<Predictor> Make(const model::Run& run, const attribution::Attribution& attribution);

  // Of the simulations to come.
  void SetOptions(const SimulateOptions& options) { options_ = options; }

  // `cores`: that the run may use; 0: as many as the recorded one.
  Price Predict(const Spec& spec, int cores = 0) const;

  // A run of another configuration: it prices what the recorded one cannot.
  Status AddProbe(const model::Run& run, const attribution::Attribution& attribution);

  const Workload& workload() const { return workloads_.front(); }

 private:
  Predictor() = default;

  SimulateOptions options_;
  std::vector<Workload> workloads_;  // calibrated; the recorded run's first, then the probes'
};

// One repetition of 256 batches: for whoever simulates very many.
SimulateOptions ShortSimulation();
// For sweeps of many points: short simulations. It depends on nothing but the number of points,
// so that a sweep that is resumed gives what it would have given.
SimulateOptions SimulationFor(uint64_t points);

// What a point gets does not depend on the number of threads.
// Sets `predicted`, `unpriced` or `error` of each that needs it. After `stop_requested` (may be
// empty; asked by any of the threads) the rest stays as it is.
void PredictPoints(const Spec& spec, const Predictor& predictor, unsigned threads,
                   const std::function<bool()>& stop_requested, std::vector<Point>& points);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_PREDICTOR_H_
