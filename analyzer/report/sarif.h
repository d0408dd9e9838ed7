// Reports for code scanning: SARIF 2.1.0. Any thread.
#pragma once

#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

struct SarifOptions {
  std::string tool_version;  // "0.1.0"; empty: omitted
  std::string spec_path;     // of the file that the run was made from, relative to the checkout
  std::string trace;         // a comparison's place: the new side's first trace
};

// One rule per finding id, with what to change as its help; one result per finding of severity low
// or higher and per budget check that did not hold; `results` is empty if all is well. A result's
// location is the line of a job's code that it is about, or the call that constructs its loader
// from its first column to its last, with its path from the root of the checkout that the job ran
// in. A failed check of how fast the run, a stage or its input is has the line of the first finding
// (about that stage) that has one, with the trace as its related location: other checks are not
// mended there. Otherwise it is the spec if its path is known, or else the trace, with the spec's
// stage as the logical location. Levels follow the severity. With a budget, only a failed check is
// an error.
std::string WriteSarif(const Report& report, const SarifOptions& options = {});

// One result if the new side is slower (error), or if the comparison is inconclusive (warning).
std::string WriteSarif(const compare::Comparison& comparison, const SarifOptions& options = {});

}  // namespace stallscope::report
