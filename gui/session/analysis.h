// The steps from a file to an answer, for whoever makes them on a worker. Any thread.
#ifndef STALLSCOPE_GUI_SESSION_ANALYSIS_H_
#define STALLSCOPE_GUI_SESSION_ANALYSIS_H_

#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/run.h"
#include "gui/session/open_run.h"

namespace stallscope::session {

// The one place where a file becomes a run, whatever its format. Several files are the ranks of one
// run. Progress is told of all of them together.
Result<model::Run> ReadRun(const std::vector<std::string>& paths,
                           const model::OnProgress& on_progress);

// Attribution and report of the whole run. With `price` recommendations have their predicted gains
// (and those that bring nothing are gone), and what a replay measured where it lies beside the
// trace.
// A result that is missing was cancelled.
std::optional<Analysis> Analyse(const model::Run& run, const attribution::Groundwork& ground,
                                unsigned threads, Cancel cancel = {});
std::shared_ptr<const report::Report> PricedReport(const model::Run& run,
                                                   const attribution::Attribution& attribution);
// Of the steps that begin within the range; without prices.
std::optional<Analysis> AnalyseRange(const model::Run& run, Range range, unsigned threads,
                                     Cancel cancel);

// Everything on the timeline.
std::shared_ptr<const timeline::RunIndex> IndexOf(std::shared_ptr<const model::Run> run,
                                                  unsigned threads);
// The devices' categories as lanes: kinds are attribution::Category.
std::shared_ptr<const std::vector<timeline::LaneIndex>> DevicesOf(const Analysis& analysis);
}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_ANALYSIS_H_
