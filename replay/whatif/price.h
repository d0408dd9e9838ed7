// The report on a run, with what simulation predicts of each recommendation. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/findings/findings.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "replay/simulate/simulate.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

// What the run's work costs, such that its simulation gives the measured throughput, and intervals
// are as wide as earlier predictions on this machine ask for. An error where the run does not show
// what its stages cost.
Result<Workload> AnchoredWorkload(const model::Run& run,
                                  const attribution::Attribution& attribution,
                                  const SimulateOptions& options = {});

// As which the error ledger keeps predictions of this run.
std::string_view LedgerKindOf(const Recorded& recorded);

// One repetition of 128 batches, for choosing among many configurations: a report's numbers and a
// tuner's are chosen by the same simulation.
SimulateOptions ShortSimulation();

// Sets gain and memory of a recommendation by simulating its patch, ten of them within 200 ms; what
// the simulation cannot price keeps the rule's own estimate. Run and attribution must outlive it.
findings::Pricer PricerFor(const model::Run& run, const attribution::Attribution& attribution);

// What bounds a run and what to change, settled.
struct Answer {
  findings::Verdict verdict;
  std::vector<findings::Finding> findings;
};

// Of the run, or of the part that the attribution covers. Patches apply to the run's spec, or to
// one that stands for the stages of a run without one. Without `price` no gain is computed.
Answer AnswerOn(const model::Run& run, const attribution::Attribution& attribution, bool price);

report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price);

}  // namespace stallscope::replay
