// Reports for people at a terminal: at most 100 columns, and readable without colour. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_TEXT_H_
#define STALLSCOPE_ANALYZER_REPORT_TEXT_H_

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

// Whose code a recommendation shows. kShort: the first line for each framework that has some.
enum class Framework { kShort, kTfData, kPytorch, kDali, kGrain };

struct TextOptions {
  bool colors = false;
  Framework code = Framework::kShort;
};

std::string WriteText(const Report& report, const TextOptions& options = {});
std::string WriteText(const compare::Comparison& comparison, const TextOptions& options = {});

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_TEXT_H_
