// Sweeps and verifications as one call each, for a worker: where their files are, and what the
// window shows of them. Any thread; runs disturb each other, so one at a time.
#pragma once

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
  std::shared_ptr<const report::SweepTable> table;  // null if unchanged
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
  // The data is missing or has changed: nothing was run, and all else is empty.
  std::optional<Error> lost_data;
};

// The consent that a re-run of a trace's own run needs; none if this user recorded it on this
// machine, or if it is emulated.
std::optional<Question> RerunQuestionOf(const ReplayCall& call);
// Asks where missing data is now.
Question LostDataQuestionOf(const ReplayCall& call, const Error& lost);

// Each line's problem, or "" if it is fine, and the number of points of all lines together.
struct VaryCheck {
  std::vector<std::string> problems;
  uint64_t points = 0;
};
VaryCheck CheckVary(const std::vector<std::string>& vary, const Spec& spec);

// Tries the grid of these lines. The sweep file is beside the trace, under a new name.
Result<ReplayEnd> ReplayGrid(const ReplayCall& call, const std::vector<std::string>& vary,
                             SweepRunMode mode, unsigned repeats);

// Measures one recommendation (row of Report::findings), or each of them and then the best
// combination. Earlier measurements of this run, beside its trace, are kept and not repeated.
Result<ReplayEnd> VerifyFindings(const ReplayCall& call, std::optional<size_t> finding);

// The table of a sweep file.
Result<std::shared_ptr<const report::SweepTable>> ReadSweepTable(const std::string& path);

}  // namespace stallscope::session
