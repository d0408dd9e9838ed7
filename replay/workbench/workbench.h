// What a user does with runs, once for the command line and the window: open, analyze and compare
// here, replay, verify and sweep in replaying.h, tune in tuning.h. Printing, drawing and asking are
// up to the caller.
//
// Files of any format become runs in analyzer/importers/open_run.h, and Read calls it. Any thread;
// nothing here is shared between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/groundwork.h"
#include "analyzer/base/cancel.h"
#include "analyzer/base/result.h"
#include "analyzer/compare/compare.h"
#include "analyzer/model/loader.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"

namespace stallscope::workbench {

// How a long computation is done. A missing optional result always means that the computation was
// canceled.
struct Control {
  unsigned threads = 2;
  Cancel cancel;
};

// Progress and warnings while files are read, on the thread that reads. Either may be empty.
struct ReadWatch {
  model::OnProgress on_progress;  // of all files together; false ends the reading
  std::function<void(const std::string& warning)> on_warning;  // once per warning of each file
};

// A run, and where its time went.
struct Opened {
  std::shared_ptr<const model::Run> run;
  std::shared_ptr<const attribution::Attribution> attribution;
};

// With the data that explains single stalls, which points into the run.
struct Examined {
  Opened opened;
  attribution::GroundworkPtr groundwork;
};

// Any format, detected by content. Several files are the ranks of one run.
Result<std::shared_ptr<const model::Run>> Read(const std::vector<std::string>& paths,
                                               const ReadWatch& watch = {});
std::optional<Examined> Examine(std::shared_ptr<const model::Run> run, const Control& control);
// Of the steps that begin in the range.
std::optional<Examined> ExamineRange(std::shared_ptr<const model::Run> run, int64_t start_ns,
                                     int64_t end_ns, const Control& control);
enum class RunPart : uint8_t {
  kSteady,      // all but warm-up and cold start
  kFirstEpoch,  // warm or cold; without a second one, the cold start, or else the whole run
};
// Of what `--first-epoch` asks for.
constexpr RunPart PartOf(bool first_epoch) {
  return first_epoch ? RunPart::kFirstEpoch : RunPart::kSteady;
}
// Reads and examines.
Result<Opened> Open(const std::vector<std::string>& paths, const ReadWatch& watch = {},
                    RunPart part = RunPart::kSteady);

struct AnalyzeOptions {
  bool price = true;     // predict what each recommendation gains, and drop those that gain nothing
  bool measured = true;  // take over what a verification beside the trace has measured
};
report::Report Analyze(const Opened& opened, const AnalyzeOptions& options = {});

compare::RunSummary Summarize(const Opened& opened);
// One run per file. Each is freed before the next is read.
Result<std::vector<compare::RunSummary>> Summarize(const std::vector<std::string>& paths,
                                                   const ReadWatch& watch = {},
                                                   RunPart part = RunPart::kSteady);

}  // namespace stallscope::workbench
