// The report on a run, with what simulation predicts of each recommendation. Any thread.
#ifndef STALLSCOPE_REPLAY_WHATIF_PRICE_H_
#define STALLSCOPE_REPLAY_WHATIF_PRICE_H_

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"

namespace stallscope::replay {

// Sets gain and memory of each recommendation that has a patch, in place: within 200 ms for ten of
// them. Those for speed that turn out to bring nothing lose their recommendation, and findings that
// are left without anything to say go; the rest is ordered anew, by gain. Where the simulation
// cannot tell, the rules' own estimate stays. The report must be of this run.
void Price(report::Report& report, const model::Run& run,
           const attribution::Attribution& attribution);

// Verdict and findings of the run, or of the part that the attribution is of. Patches are made to
// the run's spec, or to one that stands for the stages of a run that brought none. With `price`
// false no gain is computed.
report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_WHATIF_PRICE_H_
