// Sweeps and verifications as one call each, for a worker: where their files lie, and what the
// window shows of them. Any thread; runs disturb each other, so one at a time.
#ifndef STALLSCOPE_GUI_SESSION_REPLAYING_H_
#define STALLSCOPE_GUI_SESSION_REPLAYING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/cancel.h"
#include "analyzer/base/result.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sweep_table.h"
#include "gui/session/state.h"
#include "replay/workbench/workbench.h"

namespace stallscope::session {

struct ReplayTold {
  std::string doing;
  size_t done = 0;
  size_t total = 0;
  std::shared_ptr<const report::SweepTable> table;  // null where it has not changed
};

struct ReplayCall {
  workbench::Opened opened;
  std::shared_ptr<const report::Report> report;
  std::string folder;    // where the run's data is now; empty: where it was recorded
  bool emulate = false;  // run stages of the recorded cost instead
  std::string fallback;  // for the sweep file, where the trace's folder cannot be written to
  std::string program;   // `stallscope`; empty: runs are made in this process
  unsigned threads = 2;
  Cancel cancel;
  std::function<void(const ReplayTold&)> tell;  // may be empty
};

struct ReplayEnd {
  std::shared_ptr<const report::SweepTable> table;
  std::shared_ptr<const report::Report> report;  // with the gains that were measured
  std::string path;                              // of the sweep file
  bool stopped = false;
  bool emulated = false;
  // The data is not where it was recorded, or is another: nothing was run, and all else is empty.
  std::optional<Error> lost_data;
};

// What must be asked before the run that a trace brought along is made again; nothing where this
// user recorded it on this machine, and where it is emulated.
std::optional<Question> RerunQuestionOf(const ReplayCall& call);
// Asks for the place of data that is not where it was.
Question LostDataQuestionOf(const ReplayCall& call, const Error& lost);

// Each line's problem, or "" where it is fine; and how many points they make together.
struct VaryCheck {
  std::vector<std::string> problems;
  uint64_t points = 0;
};
VaryCheck CheckVary(const std::vector<std::string>& vary, const Spec& spec);

// Tries the grid of these lines. The sweep file lies beside the trace, under a name that is new.
Result<ReplayEnd> ReplayGrid(const ReplayCall& call, const std::vector<std::string>& vary,
                             SweepRunMode mode, unsigned repeats);

// Measures one recommendation (row of Report::findings), or each of them and then the best
// combination. What earlier calls measured of this run is kept beside its trace and not run again.
Result<ReplayEnd> VerifyFindings(const ReplayCall& call, std::optional<size_t> finding);

// The table of a sweep file.
Result<std::shared_ptr<const report::SweepTable>> ReadSweepTable(const std::string& path);

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_REPLAYING_H_
