#include "replay/whatif/price.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/findings/findings.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "replay/whatif/error_ledger.h"
#include "replay/workload/build_workload.h"
#include "replay/workload/change.h"
#include "replay/workload/foreign_spec.h"

namespace stallscope::replay {
namespace {

// A recommendation must not take longer than 20 ms: so many elements are simulated in 5.
constexpr SimulateOptions kQuick{.resamples = 2, .most_elements = 12'000};

// A workload to price changes of; none where the run cannot be simulated.
struct Priceable {
  Workload workload;
  Prediction now;  // of the same run simulated: what disturbed the recording, no change undoes
};

std::optional<Priceable> PriceableOf(const model::Run& run,
                                     const attribution::Attribution& attribution) {
  auto anchored = AnchoredWorkload(run, attribution, kQuick);
  if (!anchored.ok()) return std::nullopt;
  Priceable priceable{std::move(anchored).value(), {}};
  priceable.now = Simulate(priceable.workload, kQuick);
  if (priceable.now.samples_per_s <= 0) return std::nullopt;
  return priceable;
}

void Price(const Priceable& run, findings::Recommendation& recommendation) {
  const auto changed = WithPatch(run.workload, recommendation.patch);
  if (!changed.ok()) return;
  if (run.workload.recorded->job != nullptr) {
    // Better than a rule's own reason, which does not know this run's.
    recommendation.unpriced = !changed.value().unpriceable.empty() ? changed.value().unpriceable
                                                                   : changed.value().by_name_only;
    if (!recommendation.unpriced.empty()) return;
  }
  if (!changed.value().unpriceable.empty()) {
    if (!recommendation.gain.has_value() && recommendation.unpriced.empty()) {
      recommendation.unpriced = changed.value().unpriceable;
    }
    return;
  }
  const Prediction prediction = Simulate(changed.value().workload, kQuick);
  if (prediction.samples_per_s <= 0) return;
  findings::Gain gain;
  gain.predicted = prediction.samples_per_s / run.now.samples_per_s;
  gain.low = prediction.low / run.now.samples_per_s;
  gain.high = prediction.high / run.now.samples_per_s;
  const auto& assumed = changed.value().workload.assumptions;
  if (run.workload.recorded->job != nullptr && !assumed.empty() && gain.predicted > 1 &&
      gain.low < findings::kLeastShownGain) {
    // What was not recorded decides it: that is no reason to be silent.
    recommendation.unpriced = "anything from " + words::Factor(gain.low) + " to " +
                              words::Factor(gain.high) + ": " + assumed.front();
    recommendation.ranged = true;
    return;
  }
  recommendation.gain = gain;
  recommendation.unpriced.clear();
  recommendation.assumptions = assumed;
  const Recorded& recorded = *run.workload.recorded;
  if (recorded.ranks > 1) recommendation.assumptions.push_back(recorded.limits.back());
  for (const std::string& missing : run.workload.calibration->unexplained) {
    recommendation.assumptions.push_back(missing);
  }
  // A rule that is about memory has its figure from what the run held.
  const bool known = recommendation.aim == findings::Aim::kMemory && recommendation.memory_bytes;
  if (prediction.memory_bytes > 0 && !known) {
    recommendation.memory_bytes =
        static_cast<int64_t>(prediction.memory_bytes) - static_cast<int64_t>(run.now.memory_bytes);
  }
}

std::optional<double> RateWith(const Priceable& run, const Patch& patch) {
  const auto changed = WithPatch(run.workload, patch);
  if (!changed.ok() || !changed.value().unpriceable.empty() ||
      !changed.value().by_name_only.empty()) {
    return std::nullopt;
  }
  const double rate = Simulate(changed.value().workload, ShortSimulation()).samples_per_s;
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

// Null where the run cannot be simulated.
using PriceableWhenAsked = std::function<const Priceable*()>;

// Made for the first question: most runs of a CI ask none.
PriceableWhenAsked WhenAsked(const model::Run& run, const attribution::Attribution& attribution) {
  auto made = std::make_shared<std::optional<std::optional<Priceable>>>();
  return [&run, &attribution, made]() -> const Priceable* {
    if (!made->has_value()) *made = PriceableOf(run, attribution);
    return (*made)->has_value() ? &***made : nullptr;
  };
}

findings::Pricer PricerFor(PriceableWhenAsked priceable) {
  return [priceable = std::move(priceable)](findings::Recommendation& recommendation) {
    if (const Priceable* const run = priceable()) Price(*run, recommendation);
  };
}

}  // namespace

SimulateOptions ShortSimulation() {
  SimulateOptions options;
  options.batches = 128;
  options.resamples = 1;
  return options;
}

std::string_view LedgerKindOf(const Recorded& recorded) {
  return recorded.job != nullptr ? kJob : kOwnPipeline;
}

Result<Workload> AnchoredWorkload(const model::Run& run,
                                  const attribution::Attribution& attribution,
                                  const SimulateOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(Workload workload, BuildWorkload(run, attribution));
  workload = Calibrate(std::move(workload), options);
  workload.calibration->widening =
      ErrorLedger::Load().WideningFor(workload.recorded->host, LedgerKindOf(*workload.recorded));
  return workload;
}

findings::Pricer PricerFor(const model::Run& run, const attribution::Attribution& attribution) {
  return PricerFor(WhenAsked(run, attribution));
}

Answer AnswerOn(const model::Run& run, const attribution::Attribution& attribution, bool price) {
  Answer answer{findings::VerdictOn(run, attribution), {}};
  findings::Case c{run, attribution, answer.verdict, std::nullopt};
  const PriceableWhenAsked priceable = WhenAsked(run, attribution);
  c.simulated = [&](const Patch& patch) {
    const Priceable* const simulable = priceable();
    return simulable == nullptr ? std::nullopt : RateWith(*simulable, patch);
  };
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok()) {
    c.spec = std::move(spec).value();
  } else if (auto job = model::JobSpecOf(run)) {
    c.stages = std::move(job);
  } else if (run.imported()) {
    c.stages = SpecOfStages(run, attribution).spec;
  }
  answer.findings = findings::Find(c, price, PricerFor(priceable));
  return answer;
}

report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price) {
  Answer answer = AnswerOn(run, attribution, price);
  return report::MakeReport(run, attribution, answer.verdict, std::move(answer.findings));
}

}  // namespace stallscope::replay
