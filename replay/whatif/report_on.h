// The report on a run, with what simulation says of it: what every command and the window show. Any
// thread.
#ifndef STALLSCOPE_REPLAY_WHATIF_REPORT_ON_H_
#define STALLSCOPE_REPLAY_WHATIF_REPORT_ON_H_

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"

namespace stallscope::replay {

// Verdict and findings of the run, or of the part that the attribution is of. Patches are made to
// the run's spec, or to one that stands for the stages of a run that brought none. With `price`
// false no gain is computed.
report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_WHATIF_REPORT_ON_H_
