// What a verification of a run's recommendations measured, brought into the run's report. Any
// thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_
#define STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_

#include <optional>
#include <string>

#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The sweep of this run that lies beside its trace: of the JSON files in the trace's folder, by
// whatever name, the newest that verifies this very recording. RUN.sweep.json beside RUN.sst is the
// name by which people find it. Nothing where there is none, or where the folder cannot be read.
std::optional<Sweep> FindVerification(const model::Run& run);

// Sets `measured` of each recommendation whose patch the sweep has measured, in place.
void SetMeasuredGains(const Sweep& sweep, report::Report& report);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_MEASURED_GAINS_H_
