// Where the table of a sweep goes: to stdout, and into the files of --report. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_SWEEP_OUTPUTS_H_
#define STALLSCOPE_ANALYZER_CLI_SWEEP_OUTPUTS_H_

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/report/sweep_table.h"

namespace stallscope::cli {

// The form of each file is that of its name: .html, .md or .txt; another one is wrong usage, which
// is found before anything has run.
Status CheckSweepReports(const std::vector<std::string>& files);
// Text to stdout, and each file. All are tried; the first error is given back.
Status WriteSweepReports(const report::SweepTable& table, const std::vector<std::string>& files);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_SWEEP_OUTPUTS_H_
