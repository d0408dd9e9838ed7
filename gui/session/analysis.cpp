#include "gui/session/analysis.h"

#include <optional>
#include <utility>

#include "analyzer/findings/findings.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/ranks.h"
#include "analyzer/spec/spec_json.h"
#include "replay/sweep/measured_gains.h"
#include "replay/whatif/price.h"

namespace stallscope::session {
namespace {

report::Report ReportOn(const model::Run& run, const attribution::Attribution& attribution,
                        bool price) {
  const findings::Verdict verdict = findings::Judge(run, attribution);
  findings::Case c{run, attribution, verdict, std::nullopt};
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok()) c.spec = std::move(spec).value();
  report::Report report = report::MakeReport(run, attribution, verdict, findings::Find(c, price));
  if (price) replay::Price(report, run, attribution);
  return report;
}

}  // namespace

Result<model::Run> ReadRun(const std::vector<std::string>& paths) {
  std::vector<model::Run> ranks;
  for (const std::string& path : paths) {
    STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, importers::OpenRun(path));
    ranks.push_back(std::move(run));
  }
  return model::MergeRanks(std::move(ranks));
}

Analysis Analyse(const model::Run& run, unsigned threads) {
  Analysis analysis;
  auto attribution = attribution::Attribute(run, threads);
  analysis.report =
      std::make_shared<const report::Report>(ReportOn(run, attribution, /*price=*/false));
  analysis.attribution = std::make_shared<const attribution::Attribution>(std::move(attribution));
  return analysis;
}

std::shared_ptr<const report::Report> PricedReport(const model::Run& run,
                                                   const attribution::Attribution& attribution) {
  report::Report report = ReportOn(run, attribution, /*price=*/true);
  if (const auto sweep = replay::FindVerification(run)) {
    replay::SetMeasuredGains(*sweep, report);
  }
  return std::make_shared<const report::Report>(std::move(report));
}

Analysis AnalyseRange(const model::Run& run, Range range, unsigned threads) {
  Analysis analysis;
  analysis.range = range;
  auto attribution = attribution::AttributeRange(run, range.start_ns, range.end_ns, threads);
  analysis.report =
      std::make_shared<const report::Report>(ReportOn(run, attribution, /*price=*/false));
  analysis.attribution = std::make_shared<const attribution::Attribution>(std::move(attribution));
  return analysis;
}

std::vector<timeline::LaneIndex> LanesOfDevices(const attribution::Attribution& attribution) {
  std::vector<timeline::LaneIndex> lanes;
  for (const attribution::DeviceTimeline& device : attribution.timelines) {
    std::vector<timeline::Segment> segments;
    segments.reserve(device.slices.size());
    for (size_t i = 0; i < device.slices.size(); ++i) {
      const attribution::Slice& slice = device.slices[i];
      segments.push_back({slice.start_ns, slice.end_ns, static_cast<uint16_t>(slice.category),
                          timeline::Origin::kSpan, static_cast<uint32_t>(i)});
    }
    lanes.push_back(timeline::LaneIndex::FromSegments(segments));
  }
  return lanes;
}

}  // namespace stallscope::session
