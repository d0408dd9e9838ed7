// Replays of an opened run: one with other settings, a grid of them, or its recommendations. If the
// run was opened for its first epoch, each replay's first epoch is predicted and measured. The run
// may be of our own pipeline, or of a user's job. The order of the calls is the order of the work:
// make the subject, plan, get consent (a trace may have come from anywhere), run.
//
// Any thread; runs disturb each other, so one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/folders.h"
#include "analyzer/base/result.h"
#include "analyzer/report/report.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec.h"
#include "replay/rerun/page_cache.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/bench.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/predictor.h"
#include "replay/sweep/run_sweep.h"
#include "replay/workbench/workbench.h"

namespace stallscope::workbench {

// What the run can be run again with: the spec that it was made from, or the settings of a job,
// with the steps of a re-run. kInput: it has neither.
Result<Spec> RecordedSpec(const model::Run& run);
// The same, or of an imported run a spec that stands for its stages.
Result<Spec> SpecOf(const Opened& opened);

struct ReplayOptions {
  std::optional<replay::SweepMode> mode;  // nothing: both, or what the trace allows
  bool emulate = false;                   // run stages of the recorded cost, without the data
  std::string folder;                     // where the data is now; empty: where it was recorded
  // Of every run, the base included.
  std::optional<int64_t> steps;
  std::optional<int64_t> throttle_bytes_per_s;
};

// A grid of settings, and patches beside it.
struct GridPlan {
  std::vector<replay::Axis> axes;
  std::vector<replay::NamedPatch> patches;
  uint64_t points = 0;
};

// One run, kept as a trace.
struct SingleRun {
  std::string output;   // the trace
  std::string program;  // as in SweepRun
  replay::PageCache page_cache = replay::PageCache::kAsItIs;
  Cancel cancel;
  std::function<void(bool waiting)> tell;  // once a second; may be empty
};

struct SweepRun {
  std::string output;  // the sweep file
  bool resume = false;
  bool combine = false;  // after a verification: all that helped, together
  replay::Job job;
  std::string program;  // `stallscope`, which runs are made in; empty: in this process
  replay::PageCache page_cache = replay::PageCache::kAsItIs;
  unsigned threads = 2;                                        // for predictions
  Cancel cancel;                                               // what is finished by then is kept
  std::function<void(const replay::SweepProgress&)> progress;  // may be empty
};

class ReplaySubject {
 public:
  // kInput where the run can be neither predicted nor run, as `options` want it.
  static Result<ReplaySubject> Make(const Opened& opened, const ReplayOptions& options);

  const Spec& spec() const { return spec_; }  // that is run, with the points' changes
  replay::SweepMode mode() const { return mode_; }
  // What a run reads and writes, where the recorded spec is run: ask NeedsYes, then CheckData.
  const std::optional<replay::RerunPlan>& plan() const { return plan_; }

  // `lines` as in --vary; `patches` are files.
  Result<GridPlan> ReadGrid(const std::vector<std::string>& lines,
                            const std::vector<std::string>& patches) const;
  replay::Sweep PlanGrid(const GridPlan& grid) const;
  // Each recommendation of the run's report that has a patch. Not one that changes what a job
  // trains: whoever wants that asks for it by name.
  replay::Sweep PlanVerification(const report::Report& report) const;

  // "PATH=VALUE" in turn.
  Result<Spec> With(const std::vector<std::string>& settings) const;
  // What `spec` changes besides speed; empty: nothing that is known.
  std::string SideEffectOf(const Spec& spec) const;
  // Empty where it was canceled.
  Result<std::optional<replay::Outcome>> RunOnce(const Spec& spec, const SingleRun& how);

  // What the sweep file holds at the end.
  Result<replay::Sweep> Run(const replay::Sweep& planned, const SweepRun& how);

 private:
  ReplaySubject() = default;
  Status Choose(const Opened& opened, const ReplayOptions& options);
  Status Emulate(const ReplayOptions& options);
  replay::Sweep NewSweep() const;
  replay::RerunOptions OptionsOf(const std::string& program, replay::PageCache page_cache,
                                 const ScratchFolder& scratch) const;

  std::shared_ptr<const model::Run> run_;
  std::optional<replay::Predictor> predictor_;
  // Identifies the sweep's run, wherever its data is now.
  Spec recorded_;
  Spec spec_;
  bool emulated_ = false;
  bool first_epoch_ = false;  // as opened; runs cover it, too
  replay::SweepMode mode_ = replay::SweepMode::kBoth;
  std::optional<replay::RerunPlan> plan_;
  std::vector<std::string> warnings_;
};

}  // namespace stallscope::workbench
