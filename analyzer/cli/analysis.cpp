#include "analyzer/cli/analysis.h"

#include <utility>

#include "analyzer/attribution/partition.h"
#include "analyzer/cli/trace_input.h"
#include "analyzer/model/ranks.h"
#include "replay/sweep/measured_gains.h"
#include "replay/whatif/report_on.h"

namespace stallscope::cli {

Result<Analysed> Analyse(const std::vector<std::string>& traces) {
  std::vector<model::Run> ranks;
  for (const std::string& trace : traces) {
    STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, OpenTrace(trace));
    ranks.push_back(std::move(run));
  }
  Analysed analysed;
  STALLSCOPE_ASSIGN_OR_RETURN(analysed.run,
                              model::MergeRanks(std::move(ranks), &attribution::IsCommunication));
  analysed.attribution = attribution::Attribute(analysed.run);
  return analysed;
}

report::Report ReportOn(const Analysed& analysed, bool price) {
  report::Report report = replay::ReportOn(analysed.run, analysed.attribution, price);
  if (const auto sweep = replay::FindVerification(analysed.run)) {
    replay::SetMeasuredGains(*sweep, report);
  }
  return report;
}

}  // namespace stallscope::cli
