// A document as one page: no script, no network, no font from elsewhere; readable by day and by
// night, printable. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_
#define STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report {

std::string WriteHtml(const Document& document);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_
