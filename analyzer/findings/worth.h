// What becomes of a recommendation once its gain is known. Any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_WORTH_H_
#define STALLSCOPE_ANALYZER_FINDINGS_WORTH_H_

#include <cstdint>

#include "analyzer/findings/finding.h"

namespace stallscope::findings {

// False: it goes, for a change for speed must surely bring some. But where much of step time is at
// stake and so few steps were recorded that no more than a guess is left of a large gain, it stays
// without the gain, and says that more steps would tell: a run that is bound by its input must not
// look as if nothing could be done.
bool WorthShowing(Recommendation& recommendation, double share, uint64_t steps);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_WORTH_H_
