// The line that every view of a run opens with: can it be believed? Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_TRUST_H_
#define STALLSCOPE_ANALYZER_REPORT_TRUST_H_

#include <string>

#include "analyzer/model/run.h"

namespace stallscope::report {

// "complete: 4,726 spans, none dropped, no damage", or what was lost.
std::string TrustLine(const model::Run& run);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_TRUST_H_
