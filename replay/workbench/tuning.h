// Finding a better configuration, from a trace or from a spec that is recorded first: make the
// subject, agree (a trace may have come from anywhere), run. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/folders.h"
#include "analyzer/base/result.h"
#include "analyzer/findings/source_change.h"
#include "analyzer/report/report.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/kept_runs.h"
#include "replay/sweep/tune.h"
#include "replay/workbench/workbench.h"

namespace stallscope::workbench {

struct TuneRequest {
  std::string input;  // a trace, or the file of a spec
  replay::TuneGoal goal = replay::TuneGoal::kThroughput;
  unsigned max_runs = 10;
  uint64_t memory_bytes = 0;     // that a run may need; 0: any
  std::optional<int64_t> steps;  // of each run, instead of the spec's
  bool simulate_only = false;
  std::string folder;   // where the data is now; empty: where it was recorded
  std::string keep;     // a folder for the runs' traces, which are not made again; empty: none
  std::string program;  // `stallscope`, which runs are made in; empty: in this process
  Cancel cancel;
  ReadWatch watch;
  // Once, where another measurement on this host has to end before the spec is recorded.
  std::function<void()> on_waiting;  // may be empty
};

struct TuneWatch {
  std::function<void(const std::string& doing, unsigned runs)> on_progress;  // may be empty
  std::function<void(size_t more)> on_simulated;                             // may be empty
};

// A spec is a JSON file that is not a trace. Empty for any other file: it is opened as a trace.
Result<std::optional<Spec>> ReadIfSpec(const std::string& path);

class TuneSubject {
 public:
  // `spec`: the input's, if the input is a spec; it is recorded first, which takes a run.
  static Result<TuneSubject> Make(TuneRequest request, const std::optional<Spec>& spec);

  // The run that everything is predicted from.
  const Opened& opened() const { return opened_; }
  const Spec& spec() const { return spec_; }
  // What a run reads and writes, where it is a trace's own: ask NeedsYes, then CheckData.
  const std::optional<replay::RerunPlan>& plan() const { return plan_; }
  unsigned runs() const { return runs_; }  // that Make took
  // That were found in the folder of kept runs, and not made again.
  unsigned found() const { return kept_ == nullptr ? 0 : kept_->found(); }
  // For a run without a spec: what was used as one, and what is counted.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& counted() const { return counted_; }

  // How a user makes a job's settings: a command line, variables of the environment, a change of
  // the call that constructs the loader. Each with its name; none for a pipeline.
  std::vector<std::pair<std::string, std::string>> HowToSet(const Spec& best) const;

  // The same as a diff of the job's own source, as far as a diff can express it.
  std::vector<findings::SourceChange> SourceChanges(const Spec& best) const;

  // `report` is the opened run's; its recommendations are tried first.
  Result<replay::Tuned> Run(const report::Report& report, const TuneWatch& watch);

 private:
  TuneSubject() = default;
  Status Record(const Spec& spec);
  void MakeBench(const std::optional<replay::JobPlan>& job);
  Status TakeTrace();
  Status TakeStagesForSpec();

  TuneRequest request_;
  std::optional<ScratchFolder> scratch_;
  std::unique_ptr<replay::LiveBench> bench_;  // null: by simulation alone
  std::unique_ptr<replay::KeptRuns> kept_;    // null: the runs' traces are not kept
  Opened opened_;
  Spec spec_;
  std::optional<replay::RerunPlan> plan_;
  unsigned runs_ = 0;
  std::vector<std::string> notes_;
  std::string counted_ = "samples";
};

}  // namespace stallscope::workbench
