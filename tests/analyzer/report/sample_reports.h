// Reports made by hand, as a real run gives them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::test {

// input-bound: decode (cpu). Seven stages, three findings, an emulated device.
report::Report InputBoundReport();
// Compute for 84 %, nothing else that stands out; findings for information only.
report::Report BalancedReport();
// train.py, input-bound: fetch (blocked), with this many workers.
report::Report JobReport(uint64_t workers);
// Two steps, dropped events, hardly a figure.
report::Report InconclusiveReport();
// InputBoundReport with every name and text replaced by `text`.
report::Report ReportNamed(const std::string& text);
// Names that a file may hold and no form of report should stumble over.
std::vector<std::string> NastyTexts();

compare::Comparison SlowerComparison();

}  // namespace stallscope::test
