// Reports as a comment on a pull request: short, GitHub's Markdown. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_
#define STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

std::string WriteMarkdown(const Report& report);
std::string WriteMarkdown(const compare::Comparison& comparison);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_MARKDOWN_H_
