// Brings what a verification measured into the run's report. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_
#define STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_

#include <optional>
#include <string>

#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The newest sweep among the JSON files in the trace's folder that verifies this recording, under
// any name; RUN.sweep.json beside RUN.sst is the convention. Empty where there is none or the
// folder cannot be read.
std::optional<Sweep> FindVerification(const model::Run& run);

// Sets `measured` of each recommendation whose patch the sweep has measured.
void SetMeasuredGains(const Sweep& sweep, report::Report& report);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_
