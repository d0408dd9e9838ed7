// A document for a comment on a pull request: short, and safe to paste. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_
#define STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report {

std::string WriteMarkdown(const Document& document);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_
