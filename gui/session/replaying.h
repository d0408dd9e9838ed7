// Sweeps and verifications as one call each, for a worker. Any thread; runs disturb each other, so
// one at a time.
#ifndef STALLSCOPE_GUI_SESSION_REPLAYING_H_
#define STALLSCOPE_GUI_SESSION_REPLAYING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sweep_table.h"
#include "analyzer/spec/spec.h"
#include "gui/session/state.h"

namespace stallscope::session {

struct ReplayTold {
  std::string doing;
  size_t done = 0;
  size_t total = 0;
  std::shared_ptr<const report::SweepTable> table;  // null where it has not changed
};

struct ReplaySubject {
  std::shared_ptr<const model::Run> run;
  std::shared_ptr<const attribution::Attribution> attribution;
  std::shared_ptr<const report::Report> report;
  std::string program;  // `stallscope`; empty: runs are made in this process
  unsigned threads = 2;
  std::function<bool()> stop_requested;
  std::function<void(const ReplayTold&)> tell;
};

struct ReplayEnd {
  std::shared_ptr<const report::SweepTable> table;
  std::shared_ptr<const report::Report> report;  // with the gains that were measured
  std::string path;                              // of the sweep file
  bool stopped = false;
};

// What must be asked before the run that a trace brought along is made again, which `spec` says;
// nothing where this user recorded it on this machine.
std::optional<Question> RerunQuestionOf(const model::Run& run, const Spec& spec);

// The spec that the run was made from, or what its trace says of one.
Result<Spec> SpecOfRun(const model::Run& run, const attribution::Attribution& attribution);

// Each line's problem, or "" where it is fine; and how many points they make together.
struct VaryCheck {
  std::vector<std::string> problems;
  uint64_t points = 0;
};
VaryCheck CheckVary(const std::vector<std::string>& vary, const Spec& spec);

// Tries the grid of these lines. The sweep file lies beside the trace, under a name that is new;
// where that folder cannot be written, in `fallback`.
Result<ReplayEnd> ReplayGrid(const ReplaySubject& subject, const std::vector<std::string>& vary,
                             SweepRunMode mode, unsigned repeats, const std::string& fallback);

// Measures one recommendation (row of Report::findings), or each of them and then the best
// combination. What earlier calls measured of this run is kept beside its trace and not run again.
Result<ReplayEnd> VerifyFindings(const ReplaySubject& subject, std::optional<size_t> finding,
                                 const std::string& fallback);

// The table of a sweep file.
Result<std::shared_ptr<const report::SweepTable>> ReadSweepTable(const std::string& path);

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_REPLAYING_H_
