// Reports as one page: no script, no network, no font from elsewhere; readable by day and night,
// printable. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_HTML_H_
#define STALLSCOPE_ANALYZER_REPORT_HTML_H_

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

std::string WriteHtml(const Report& report);
std::string WriteHtml(const compare::Comparison& comparison);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_HTML_H_
