// Prices configurations by simulation, from one recorded run, and from probe runs for what that run
// cannot show. Any thread may call Predict while none adds a probe.
#pragma once

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
#include "replay/whatif/error_ledger.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct Price {
  std::optional<Rate> rate;
  std::optional<uint64_t> memory_bytes;
  std::string unpriced;    // why there is no rate, and how to get one
  std::string bottleneck;  // a stage, "trainer" or "cores"; empty where there is no rate
  double input_stall = 0;  // share of the step time
};

class Predictor {
 public:
  // An error where the run does not show what its stages cost.
  static Result<Predictor> Make(const model::Run& run, const attribution::Attribution& attribution);

  // For later simulations.
  void SetOptions(const SimulateOptions& options) { options_ = options; }

  // `cores`: that the run may use; 0: as many as recorded.
  Price Predict(const Spec& spec, int cores = 0) const;

  // A run of another configuration, for what the recorded one cannot price.
  Status AddProbe(const model::Run& run, const attribution::Attribution& attribution);

  // Names of stores on disk whose costs neither the recorded run nor a probe has shown.
  std::vector<std::string> UnknownStores(const Spec& spec) const;
  // Takes the costs of such stores from a run that filled and read them.
  Status AddStores(const model::Run& run, const attribution::Attribution& attribution);

  const Workload& workload() const { return workloads_.front(); }

  // For the error ledger, where the point was predicted from the recorded run and measured on the
  // same machine, undisturbed.
  std::optional<VerifiedPrediction> VerifiedOf(const Point& point) const;

 private:
  Predictor() = default;

  SimulateOptions options_;
  std::vector<Workload> workloads_;  // calibrated; the recorded run's first, then the probes'
};

// Short simulations for sweeps of many points. Depends only on the number of points, so that a
// resumed sweep gives the same results.
SimulateOptions SimulationFor(uint64_t points);

// Adds what the runs of these points say of their predictions to the user's error ledger. One that
// cannot be written is no reason to lose the runs.
void KeepErrors(const Predictor& predictor, const std::vector<const Point*>& points);

// The results do not depend on the number of threads.
// Sets `predicted`, `unpriced` or `error` of each that needs it. After `stop_requested` (may be
// empty; asked by any of the threads) the rest stays as it is.
void PredictPoints(const Spec& spec, const Predictor& predictor, unsigned threads,
                   const std::function<bool()>& stop_requested, std::vector<Point>& points);

}  // namespace stallscope::replay
