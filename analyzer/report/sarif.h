// Reports for code scanning: SARIF 2.1.0. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_SARIF_H_
#define STALLSCOPE_ANALYZER_REPORT_SARIF_H_

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

struct SarifOptions {
  std::string tool_version;  // "0.1.0"; empty: not said
  std::string spec_path;     // of the file that the run was made from, relative to the checkout
  std::string trace;         // a comparison's place: the new side's first trace
};

// A rule for each finding's id, with what to change as its help; a result for each finding of
// severity low and more and for each check of a budget that did not hold; `results` is empty where
// all is well. A result's place is the spec, where its path is known, else the trace, with the
// spec's stage as the logical location. Levels follow the severity. With a budget, only a check
// that failed it is an error.
std::string WriteSarif(const Report& report, const SarifOptions& options = {});

// One result where the new side is slower (error), or where nobody can tell (warning).
std::string WriteSarif(const compare::Comparison& comparison, const SarifOptions& options = {});

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_SARIF_H_
