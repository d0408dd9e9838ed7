// Reports for viewers of test results. Any thread.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

// With a budget, each check is a test case. A failed check of level error fails; one of level warn
// passes, and system-out says so. An inconclusive check is skipped, or is an error if its level is
// error and the gate counts it as a failure (`inconclusive_fails`). Without a budget nothing can
// fail: the verdict is a case that passes, or is skipped if it is inconclusive, and each finding of
// high severity is a case that passes, with its text in system-out.
std::string WriteJunit(const Report& report, bool inconclusive_fails = true);

// One case: it fails if the new side is slower; if the answer is inconclusive, it is an error or
// skipped, as above.
std::string WriteJunit(const compare::Comparison& comparison, bool inconclusive_fails = true);

}  // namespace stallscope::report
