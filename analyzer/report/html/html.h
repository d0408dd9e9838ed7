// A document as one HTML page: no scripts, no network, no external fonts; light and dark,
// printable. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_
#define STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report {

std::string WriteHtml(const Document& document);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_HTML_HTML_H_
