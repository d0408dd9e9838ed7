#include "replay/whatif/price.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/findings/findings.h"
#include "analyzer/spec/spec_json.h"
#include "replay/simulate/simulate.h"
#include "replay/workload/build_workload.h"
#include "replay/workload/change.h"
#include "replay/workload/foreign_spec.h"

namespace stallscope::replay {
namespace {

// A recommendation must not take longer than 20 ms: so many elements are simulated in 5.
constexpr SimulateOptions kQuick{.resamples = 2, .most_elements = 12'000};

double GainOf(const report::FindingRow& finding) {
  const bool priced =
      finding.recommendation.has_value() && finding.recommendation->gain.has_value();
  return priced ? finding.recommendation->gain->predicted : 0;
}

// False where nothing is left to say.
bool Reprice(const Workload& workload, const Prediction& now, uint64_t steps,
             report::FindingRow& finding) {
  auto& recommendation = *finding.recommendation;
  const auto changed = WithPatch(workload, recommendation.patch);
  if (!changed.ok()) return true;
  if (!changed.value().unpriceable.empty()) {
    if (!recommendation.gain.has_value() && recommendation.unpriced.empty()) {
      recommendation.unpriced = changed.value().unpriceable;
    }
    return true;
  }
  const Prediction prediction = Simulate(changed.value().workload, kQuick);
  if (prediction.samples_per_s <= 0) return true;
  findings::Gain gain;
  gain.predicted = prediction.samples_per_s / now.samples_per_s;
  gain.low = prediction.low / now.samples_per_s;
  gain.high = prediction.high / now.samples_per_s;
  recommendation.gain = gain;
  recommendation.unpriced.clear();
  if (prediction.memory_bytes > 0) {
    recommendation.memory_bytes =
        static_cast<int64_t>(prediction.memory_bytes) - static_cast<int64_t>(now.memory_bytes);
  }
  if (findings::WorthShowing(recommendation, finding.share, steps)) return true;
  finding.recommendation.reset();
  return finding.stands_alone;
}

}  // namespace

void PriceRecommendations(report::Report& report, const model::Run& run,
                          const attribution::Attribution& attribution) {
  const auto asks = [](const report::FindingRow& finding) {
    return finding.recommendation.has_value() && !finding.recommendation->patch.changes.empty();
  };
  if (std::none_of(report.findings.begin(), report.findings.end(), asks)) return;
  auto built = BuildWorkload(run, attribution);
  if (!built.ok()) return;
  const Workload workload = Calibrate(std::move(built).value(), kQuick);
  // Against the same run simulated: where something disturbed the recording, no change undoes that.
  const Prediction now = Simulate(workload, kQuick);
  if (now.samples_per_s <= 0) return;
  report.findings.erase(std::remove_if(report.findings.begin(), report.findings.end(),
                                       [&](report::FindingRow& finding) {
                                         return asks(finding) &&
                                                !Reprice(workload, now, report.steps, finding);
                                       }),
                        report.findings.end());
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const report::FindingRow& a, const report::FindingRow& b) {
                     if (GainOf(a) != GainOf(b)) return GainOf(a) > GainOf(b);
                     return a.share > b.share;
                   });
}

report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price) {
  const findings::Verdict verdict = findings::VerdictOn(run, attribution);
  findings::Case c{run, attribution, verdict, std::nullopt};
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok()) {
    c.spec = std::move(spec).value();
  } else if (run.imported()) {
    c.stages = SpecOfStages(run, attribution).spec;
  }
  report::Report report = report::MakeReport(run, attribution, verdict, findings::Find(c, price));
  if (price) PriceRecommendations(report, run, attribution);
  return report;
}

}  // namespace stallscope::replay
