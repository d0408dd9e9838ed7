#include "replay/whatif/report_on.h"

#include <optional>
#include <utility>

#include "analyzer/findings/findings.h"
#include "analyzer/spec/spec_json.h"
#include "replay/whatif/price.h"
#include "replay/workload/foreign_spec.h"

namespace stallscope::replay {

report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price) {
  const findings::Verdict verdict = findings::VerdictOn(run, attribution);
  findings::Case c{run, attribution, verdict, std::nullopt};
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok()) {
    c.spec = std::move(spec).value();
  } else if (run.imported()) {
    c.stages = SpecOfStages(run, attribution).spec;
  }
  report::Report report = report::MakeReport(run, attribution, verdict, findings::Find(c, price));
  if (price) Price(report, run, attribution);
  return report;
}

}  // namespace stallscope::replay
