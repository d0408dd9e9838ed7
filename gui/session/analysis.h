// What the window derives from an examined run, on a worker. Any thread.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/model/run.h"
#include "gui/session/open_run.h"
#include "replay/workbench/workbench.h"

namespace stallscope::session {

// An open run as the workbench takes it.
workbench::Opened OpenedOf(const OpenRun& open);

// Attribution and report, of the whole run or of a range. Not yet priced.
Analysis AnalysisOf(const workbench::Opened& opened, std::optional<Range> range = std::nullopt);
// With predicted gains, and those that a verification measured.
std::shared_ptr<const report::Report> PricedReport(const workbench::Opened& opened);

// Everything on the timeline.
std::shared_ptr<const timeline::RunIndex> IndexOf(std::shared_ptr<const model::Run> run,
                                                  unsigned threads);
// The devices' categories as lanes: kinds are attribution::Category.
std::shared_ptr<const std::vector<timeline::LaneIndex>> DevicesOf(const Analysis& analysis);

}  // namespace stallscope::session
