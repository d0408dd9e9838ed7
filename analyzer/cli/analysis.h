// A run with what was found out about it: what the commands that report on one share. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_ANALYSIS_H_
#define STALLSCOPE_ANALYZER_CLI_ANALYSIS_H_

#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"

namespace stallscope::cli {

struct Analysed {
  model::Run run;
  attribution::Attribution attribution;
};

// Several traces are the ranks of one run. Prints warnings, as OpenTrace does.
Result<Analysed> Analyse(const std::vector<std::string>& traces);

// With the gains that a replay measured, where its sweep lies beside the trace. Without `price`
// nothing is predicted.
report::Report ReportOn(const Analysed& analysed, bool price);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_ANALYSIS_H_
