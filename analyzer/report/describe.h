// A report or a comparison as a document: the one place that decides what is said, in which words
// and in which order, whatever the form. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_DESCRIBE_H_
#define STALLSCOPE_ANALYZER_REPORT_DESCRIBE_H_

#include <string>
#include <vector>

#include "analyzer/report/document.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

Document DocumentOf(const Report& report);
Document DocumentOf(const compare::Comparison& comparison);

// --- Phrases that other forms of the report share ---

// "1.80x (1.60 to 1.90), measured 1.76x", or why there is no gain; empty where nothing is known.
std::string GainPhrase(const findings::Recommendation& recommendation);

struct BudgetCounts {
  size_t errors = 0;
  size_t warnings = 0;
  size_t inconclusive = 0;  // of level error
};
BudgetCounts CountChecks(const std::vector<CheckRow>& checks);
// "5 of 6 checks held, 1 failed"
std::string BudgetPhrase(const std::vector<CheckRow>& checks);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_DESCRIBE_H_
