#include "analyzer/cli/analysis.h"

#include <optional>
#include <utility>

#include "analyzer/attribution/partition.h"
#include "analyzer/cli/trace_input.h"
#include "analyzer/findings/findings.h"
#include "analyzer/model/ranks.h"
#include "analyzer/spec/spec_json.h"
#include "replay/sweep/measured_gains.h"
#include "replay/whatif/price.h"
#include "replay/workload/foreign_spec.h"

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
  const findings::Verdict verdict = findings::Judge(analysed.run, analysed.attribution);
  findings::Case c{analysed.run, analysed.attribution, verdict, std::nullopt};
  auto spec = ReadSpec(analysed.run.info.spec_json, analysed.run.path);
  if (spec.ok()) {
    c.spec = std::move(spec).value();
  } else if (analysed.run.imported()) {
    c.stages = replay::SpecOfStages(analysed.run, analysed.attribution).spec;
  }
  report::Report report =
      report::MakeReport(analysed.run, analysed.attribution, verdict, findings::Find(c, price));
  if (price) replay::Price(report, analysed.run, analysed.attribution);
  if (const auto sweep = replay::FindVerification(analysed.run)) {
    replay::SetMeasuredGains(*sweep, report);
  }
  return report;
}

}  // namespace stallscope::cli
