#include "replay/sweep/predictor.h"

#include <memory>
#include <utility>

#include "analyzer/base/thread.h"
#include "replay/rerun/fill.h"
#include "replay/whatif/price.h"
#include "replay/workload/build_workload.h"
#include "replay/workload/change.h"
#include "replay/workload/op_change.h"

namespace stallscope::replay {
namespace {

constexpr uint64_t kFewPoints = 200;

Workload OnCores(Workload workload, int cores) {
  Recorded recorded = *workload.recorded;
  recorded.cores = cores;
  workload.recorded = std::make_shared<const Recorded>(std::move(recorded));
  return workload;
}

Price PriceOf(const Prediction& prediction) {
  Price price;
  if (!(prediction.samples_per_s > 0)) {
    price.unpriced = "the simulation never completes a step";
    return price;
  }
  price.rate = Rate{prediction.samples_per_s, prediction.low, prediction.high};
  if (prediction.memory_bytes > 0) price.memory_bytes = prediction.memory_bytes;
  price.bottleneck = prediction.bottleneck;
  price.input_stall = prediction.input_stall;
  return price;
}

void PredictPoint(const Spec& spec, const Predictor& predictor, Point& point) {
  const auto changed = SpecOf(spec, point);
  if (!changed.ok()) {
    point.error = changed.error().Line();
    return;
  }
  const Price price = predictor.Predict(changed.value(), point.cores);
  point.predicted = price.rate;
  point.predicted_memory_bytes = price.memory_bytes;
  point.unpriced = price.unpriced;
}

}  // namespace

SimulateOptions SimulationFor(uint64_t points) {
  return points <= kFewPoints ? SimulateOptions() : ShortSimulation();
}

Result<Predictor> Predictor::Make(const model::Run& run,
                                  const attribution::Attribution& attribution) {
  Predictor predictor;
  STALLSCOPE_ASSIGN_OR_RETURN(Workload workload, AnchoredWorkload(run, attribution));
  predictor.workloads_.push_back(std::move(workload));
  return predictor;
}

Status Predictor::AddProbe(const model::Run& run, const attribution::Attribution& attribution) {
  STALLSCOPE_ASSIGN_OR_RETURN(Workload workload, AnchoredWorkload(run, attribution));
  workloads_.push_back(std::move(workload));
  return {};
}

std::vector<std::string> Predictor::UnknownStores(const Spec& spec) const {
  std::vector<std::string> unknown;
  for (const StageSpec& stage : spec.stages) {
    if (!IsOnDisk(stage)) continue;
    const auto& known = workload().recorded->stages;
    const auto costs = known.find(stage.name);
    if (costs == known.end() || costs->second.hits.empty()) unknown.push_back(stage.name);
  }
  return unknown;
}

Status Predictor::AddStores(const model::Run& run, const attribution::Attribution& attribution) {
  STALLSCOPE_ASSIGN_OR_RETURN(const Workload probe, BuildWorkload(run, attribution));
  Recorded recorded = *workload().recorded;
  for (const StageSpec& stage : probe.spec.stages) {
    const auto costs = probe.recorded->stages.find(stage.name);
    if (!IsOnDisk(stage) || costs == probe.recorded->stages.end()) continue;
    if (costs->second.hits.empty()) {
      return Error{ErrorKind::kRun, "the probe did not read '" + stage.name + "'", "", ""};
    }
    recorded.stages[stage.name] = costs->second;
  }
  workloads_.front().recorded = std::make_shared<const Recorded>(std::move(recorded));
  return {};
}

Price Predictor::Predict(const Spec& spec, int cores) const {
  std::string unpriced;
  std::optional<Workload> best;
  for (const Workload& workload : workloads_) {
    Changed changed = WithSpec(workload, spec);
    // A probe shows more than what is usual.
    if (changed.unpriceable.empty()) changed.unpriceable = std::move(changed.unprobed);
    if (!changed.unpriceable.empty()) {
      if (unpriced.empty()) unpriced = std::move(changed.unpriceable);
      continue;
    }
    // What a probe has shown counts more than what is usual.
    const bool assumed = changed.workload.ops != nullptr && changed.workload.ops->assumed;
    if (!assumed || !best.has_value()) best = std::move(changed.workload);
    if (!assumed) break;
  }
  if (!best.has_value()) {
    Price price;
    price.unpriced = std::move(unpriced);
    return price;
  }
  const bool fewer = cores > 0 && cores < best->recorded->cores;
  return PriceOf(Simulate(fewer ? OnCores(*std::move(best), cores) : *best, options_));
}

std::optional<VerifiedPrediction> Predictor::VerifiedOf(const Point& point) const {
  const Recorded& recorded = *workload().recorded;
  const auto measured = Measured(point);
  if (!point.predicted || !measured || point.probed || !point.error.empty()) return std::nullopt;
  for (const RunFigure& run : point.runs) {
    if (run.host != recorded.host) return std::nullopt;
  }
  // Neither the recording nor a run shows what the model is worth if other programs took part.
  const bool disturbed = recorded.other_cores > kOthersDisturb * recorded.cores;
  if (disturbed || SpreadOf(point) > kSteady || OthersIn(point) > kOthersDisturb)
    return std::nullopt;
  const Rate& predicted = *point.predicted;
  const double widening = workload().calibration->widening;
  return VerifiedPrediction{
      recorded.host, std::string(LedgerKindOf(recorded)), predicted.samples_per_s,
      (predicted.high / predicted.samples_per_s - 1) / widening, measured->samples_per_s};
}

void KeepErrors(const Predictor& predictor, const std::vector<const Point*>& points) {
  std::vector<VerifiedPrediction> verified;
  for (const Point* point : points) {
    auto entry = predictor.VerifiedOf(*point);
    if (entry.has_value()) verified.push_back(*std::move(entry));
  }
  [[maybe_unused]] const Status kept = AddToLedger(verified);
}

void PredictPoints(const Spec& spec, const Predictor& predictor, unsigned threads,
                   const std::function<bool()>& stop_requested, std::vector<Point>& points) {
  ForEachParallel(points.size(), threads, [&](size_t i) {
    if (stop_requested && stop_requested()) return;
    PredictPoint(spec, predictor, points[i]);
  });
}

}  // namespace stallscope::replay
