#include "gui/session/analysis.h"

#include <utility>

#include "analyzer/attribution/partition.h"

namespace stallscope::session {

workbench::Opened OpenedOf(const OpenRun& open) { return {open.run, open.whole.attribution}; }

Analysis AnalysisOf(const workbench::Opened& opened, std::optional<Range> range) {
  return {range, opened.attribution,
          std::make_shared<const report::Report>(
              workbench::Analyze(opened, {.price = false, .measured = false}))};
}

std::shared_ptr<const report::Report> PricedReport(const workbench::Opened& opened) {
  return std::make_shared<const report::Report>(workbench::Analyze(opened));
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
