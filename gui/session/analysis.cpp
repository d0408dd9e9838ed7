#include "gui/session/analysis.h"

#include <optional>
#include <utility>

#include "analyzer/attribution/partition.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/ranks.h"
#include "replay/sweep/measured_gains.h"
#include "replay/whatif/report_on.h"

namespace stallscope::session {

Result<model::Run> ReadRun(const std::vector<std::string>& paths,
                           const model::OnProgress& on_progress) {
  std::vector<model::Run> ranks;
  for (const std::string& path : paths) {
    const auto before = static_cast<double>(ranks.size());
    const auto all = static_cast<double>(paths.size());
    const auto of_all = [&](std::optional<double> part) {
      return on_progress(part ? std::optional((before + *part) / all) : std::nullopt);
    };
    STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, importers::OpenRun(path, of_all));
    ranks.push_back(std::move(run));
  }
  return model::MergeRanks(std::move(ranks), &attribution::IsCommunication);
}

std::optional<Analysis> Analyse(const model::Run& run, const attribution::Groundwork& ground,
                                unsigned threads, Cancel cancel) {
  auto attribution = attribution::Attribute(ground, threads, cancel);
  if (!attribution.has_value()) return std::nullopt;
  Analysis analysis;
  analysis.report =
      std::make_shared<const report::Report>(replay::ReportOn(run, *attribution, /*price=*/false));
  analysis.attribution = std::make_shared<const attribution::Attribution>(*std::move(attribution));
  return analysis;
}

std::shared_ptr<const report::Report> PricedReport(const model::Run& run,
                                                   const attribution::Attribution& attribution) {
  report::Report report = replay::ReportOn(run, attribution, /*price=*/true);
  if (const auto sweep = replay::FindVerification(run)) {
    replay::SetMeasuredGains(*sweep, report);
  }
  return std::make_shared<const report::Report>(std::move(report));
}

std::optional<Analysis> AnalyseRange(const model::Run& run, Range range, unsigned threads,
                                     Cancel cancel) {
  const auto ground =
      attribution::LayGroundworkOfRange(run, range.start_ns, range.end_ns, threads, cancel);
  if (ground == nullptr) return std::nullopt;
  auto analysis = Analyse(run, *ground, threads, cancel);
  if (analysis.has_value()) analysis->range = range;
  return analysis;
}

std::shared_ptr<const timeline::RunIndex> IndexOf(std::shared_ptr<const model::Run> run,
                                                  unsigned threads) {
  return std::make_shared<const timeline::RunIndex>(
      timeline::MakeRunIndex(std::move(run), &attribution::IsCommunication, threads));
}

std::shared_ptr<const std::vector<timeline::LaneIndex>> DevicesOf(const Analysis& analysis) {
  std::vector<timeline::LaneIndex> lanes;
  for (const attribution::DeviceTimeline& device : analysis.attribution->timelines) {
    std::vector<timeline::Segment> segments;
    segments.reserve(device.slices.size());
    for (size_t i = 0; i < device.slices.size(); ++i) {
      const attribution::Slice& slice = device.slices[i];
      segments.push_back({slice.start_ns, slice.end_ns, static_cast<uint16_t>(slice.category),
                          timeline::Origin::kSpan, static_cast<uint32_t>(i)});
    }
    lanes.push_back(timeline::LaneIndex::FromSegments(segments));
  }
  return std::make_shared<const std::vector<timeline::LaneIndex>>(std::move(lanes));
}

}  // namespace stallscope::session
