// Reports for what shows test results. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_JUNIT_H_
#define STALLSCOPE_ANALYZER_REPORT_JUNIT_H_

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

// With a budget each check is a case: a failed one of level error fails, of level warn passes and
// says so in system-out, an inconclusive one is skipped, unless the gate takes it for a failure
// (`inconclusive_fails`, of level error): then it is an error. Without a budget there is nothing to
// fail: the verdict is a case that passes, or is skipped where it is inconclusive, and each finding
// of severity high is a case that passes with its text in system-out.
std::string WriteJunit(const Report& report, bool inconclusive_fails = true);

// One case: it fails where the new side is slower, and where the answer is inconclusive it is an
// error or skipped as above.
std::string WriteJunit(const compare::Comparison& comparison, bool inconclusive_fails = true);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_JUNIT_H_
