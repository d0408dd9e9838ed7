#include "replay/workbench/replaying.h"

#include <utility>

#include "analyzer/model/job_spec.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "replay/rerun/emulate.h"
#include "replay/sweep/moves.h"
#include "replay/workload/build_workload.h"

namespace stallscope::workbench {
namespace {

using replay::SweepMode;

Result<Spec> WithRunSettings(Spec spec, const ReplayOptions& options) {
  const bool job = IsJob(spec);
  if (job && (options.emulate || options.throttle_bytes_per_s)) {
    return Error{ErrorKind::kUsage,
                 std::string("a job reads its data by itself, so it cannot be ") +
                     (options.emulate ? "emulated" : "throttled"),
                 "", "leave the option out"};
  }
  std::vector<std::string> settings;
  if (options.steps) {
    settings.push_back((job ? "job.steps=" : "trainer.steps=") + std::to_string(*options.steps));
  }
  for (const StageSpec& stage : spec.stages) {
    if (!options.throttle_bytes_per_s || !std::holds_alternative<SourceSpec>(stage.kind)) continue;
    settings.push_back(stage.name +
                       ".throttle_bytes_per_s=" + std::to_string(*options.throttle_bytes_per_s));
  }
  return ApplySettings(std::move(spec), settings);
}

}  // namespace

Result<Spec> RecordedSpec(const model::Run& run) {
  if (auto job = replay::RecordedJob(run)) return *std::move(job);
  if (model::IsJob(run)) {
    return Error{ErrorKind::kInput,
                 run.loaders.empty()
                     ? "no data loader was seen in the job, so it has no settings to change"
                     : "the job's loaders have no settings that can be changed from outside",
                 run.path, "record a job that uses PyTorch's DataLoader"};
  }
  return ReadSpec(run.info.spec_json, run.path);
}

Result<Spec> SpecOf(const Opened& opened) {
  auto spec = RecordedSpec(*opened.run);
  if (spec.ok() || model::IsJob(*opened.run) || !opened.run->info.spec_json.empty()) return spec;
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Workload workload,
                              replay::BuildWorkload(*opened.run, *opened.attribution));
  return workload.spec;
}

Result<ReplaySubject> ReplaySubject::Make(const Opened& opened, const ReplayOptions& options) {
  ReplaySubject subject;
  subject.run_ = opened.run;
  subject.first_epoch_ = opened.attribution->window.first_epoch;
  STALLSCOPE_RETURN_IF_ERROR(subject.Choose(opened, options));
  return subject;
}

// Which spec is changed, and what of predicting and running can be done with it.
Status ReplaySubject::Choose(const Opened& opened, const ReplayOptions& options) {
  auto predictor = replay::Predictor::Make(*run_, *opened.attribution);
  std::optional<Error> unpredictable;
  if (predictor.ok()) {
    predictor_ = std::move(predictor).value();
  } else {
    unpredictable = predictor.error();
  }
  auto spec = RecordedSpec(*run_);
  const bool can_run = spec.ok() || options.emulate;
  if (model::IsJob(*run_) && !spec.ok()) return spec.error();
  if (spec.ok()) {
    recorded_ = std::move(spec).value();
    if (IsJob(recorded_) && predictor_.has_value()) {
      warnings_ = predictor_->workload().recorded->limits;
    }
  } else if (predictor_.has_value()) {
    recorded_ = predictor_->workload().spec;
    warnings_ = predictor_->workload().recorded->limits;
  } else {
    return Error{ErrorKind::kInput,
                 "the run has no spec, and its trace does not show what its stages cost (" +
                     unpredictable->Line() + ")",
                 run_->path, "replay a run that stallscope recorded"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(recorded_, WithRunSettings(std::move(recorded_), options));
  spec_ = recorded_;
  mode_ = options.mode.value_or(can_run ? SweepMode::kBoth : SweepMode::kSimulate);
  if (mode_ != SweepMode::kSimulate && !can_run) {
    return Error{ErrorKind::kInput, "the run has no spec to run", run_->path,
                 "simulate it (--mode simulate), or run stages of the recorded cost (--emulate)"};
  }
  if (mode_ != SweepMode::kRerun && unpredictable.has_value()) {
    if (mode_ == SweepMode::kSimulate) return *unpredictable;
    warnings_.push_back("nothing is predicted: " + unpredictable->Line());
    mode_ = SweepMode::kRerun;
  }
  if (options.emulate) {
    if (unpredictable.has_value()) return *unpredictable;
    return Emulate(options);
  }
  if (mode_ != SweepMode::kSimulate) {
    plan_ = replay::PlanRerun(*run_, recorded_, options.folder);
    if (plan_->job.has_value()) STALLSCOPE_RETURN_IF_ERROR(replay::CheckCommand(*plan_->job));
    spec_ = plan_->spec;
  }
  return {};
}

Status ReplaySubject::Emulate(const ReplayOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto emulation, replay::Emulate(*predictor_->workload().recorded));
  STALLSCOPE_ASSIGN_OR_RETURN(spec_, WithRunSettings(emulation.spec, options));
  emulated_ = true;
  warnings_.emplace_back("emulated: stages burn and sleep by the recorded distributions");
  for (std::string& limit : emulation.limits) warnings_.push_back(std::move(limit));
  return {};
}

replay::Sweep ReplaySubject::NewSweep() const {
  replay::Sweep sweep = replay::SweepOf(*run_, emulated_ ? spec_ : recorded_);
  sweep.mode = mode_;
  sweep.emulated = emulated_;
  sweep.first_epoch = first_epoch_;
  sweep.warnings = warnings_;
  if (first_epoch_) {
    sweep.warnings.emplace_back("rates cover only the first epoch of each run, or its cold start");
  }
  sweep.counts_steps = predictor_.has_value() && predictor_->workload().recorded->counts_steps;
  return sweep;
}

Result<GridPlan> ReplaySubject::ReadGrid(const std::vector<std::string>& lines,
                                         const std::vector<std::string>& patches) const {
  GridPlan grid;
  STALLSCOPE_ASSIGN_OR_RETURN(grid.axes, replay::ParseGrid(lines, spec_));
  for (const std::string& file : patches) {
    STALLSCOPE_ASSIGN_OR_RETURN(Patch patch, ReadPatchFile(file));
    // A patch that does not fit is wrong usage, and not a point that fails.
    STALLSCOPE_RETURN_IF_ERROR(Apply(spec_, patch));
    grid.patches.push_back({file, std::move(patch)});
  }
  grid.points = replay::CountPoints(grid.axes) + grid.patches.size();
  return grid;
}

replay::Sweep ReplaySubject::PlanGrid(const GridPlan& grid) const {
  replay::Sweep sweep = NewSweep();
  replay::PlanGrid(spec_, grid.axes, grid.patches, sweep);
  return sweep;
}

replay::Sweep ReplaySubject::PlanVerification(const report::Report& report) const {
  replay::Sweep sweep = NewSweep();
  replay::PlanVerification(report, sweep);
  if (!IsJob(spec_)) return sweep;
  std::erase_if(sweep.points, [&](const replay::Point& point) {
    const auto changed = replay::SpecOf(spec_, point);
    if (!changed.ok() || replay::LearnsTheSame(spec_, changed.value())) return false;
    sweep.warnings.push_back("not tried: " + NameOf(point) + ": " + SideEffectOf(changed.value()) +
                             "; --vary tries it");
    return true;
  });
  return sweep;
}

Result<Spec> ReplaySubject::With(const std::vector<std::string>& settings) const {
  return ApplySettings(spec_, settings);
}

std::string ReplaySubject::SideEffectOf(const Spec& spec) const {
  return replay::SideEffect(spec_, spec);
}

replay::RerunOptions ReplaySubject::OptionsOf(const std::string& program,
                                              replay::PageCache page_cache,
                                              const ScratchFolder& scratch) const {
  replay::RerunOptions options;
  options.program = program;
  options.scratch = scratch.path();
  options.page_cache = page_cache;
  options.first_epoch = first_epoch_;
  if (plan_.has_value()) options.job = plan_->job;
  return options;
}

Result<std::optional<replay::Outcome>> ReplaySubject::RunOnce(const Spec& spec,
                                                              const SingleRun& how) {
  STALLSCOPE_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make());
  replay::LiveBench bench(OptionsOf(how.program, how.page_cache, scratch));
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Outcome outcome,
                              bench.Measure(spec, {0, false, how.output, how.cancel, how.tell}));
  if (outcome.failed.has_value()) return *std::move(outcome.failed);
  if (outcome.stopped) return std::optional<replay::Outcome>();
  return std::optional<replay::Outcome>(std::move(outcome));
}

Result<replay::Sweep> ReplaySubject::Run(const replay::Sweep& planned, const SweepRun& how) {
  replay::SweepWork work;
  work.file = {how.output, how.resume, how.job, how.cancel};
  work.spec = spec_;
  work.predicted_spec = recorded_;
  work.threads = how.threads;
  work.stop_requested = how.cancel;
  work.progress = how.progress;
  if (mode_ != SweepMode::kRerun) {
    predictor_->SetOptions(replay::SimulationFor(planned.points.size()));
    work.predictor = &*predictor_;
  }
  std::optional<ScratchFolder> scratch;
  std::optional<replay::LiveBench> bench;
  if (mode_ != SweepMode::kSimulate) {
    STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder made, ScratchFolder::Make());
    scratch.emplace(std::move(made));
    work.bench = &bench.emplace(OptionsOf(how.program, how.page_cache, *scratch));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Sweep done, replay::RunSweep(planned, work));
  if (mode_ == SweepMode::kBoth && !emulated_ && !first_epoch_) {
    std::vector<const replay::Point*> points;
    for (size_t i = 0; i < replay::Configurations(done); ++i) {
      points.push_back(&replay::ConfigurationAt(std::as_const(done), i));
    }
    replay::KeepErrors(*predictor_, points);
  }
  if (!how.combine || !replay::IsComplete(done) || how.cancel.requested()) return done;
  const size_t before = done.points.size();
  replay::PlanCombination(spec_, work.predictor, done);
  if (done.points.size() == before) return done;
  work.file.resume = true;
  return replay::RunSweep(done, work);
}

}  // namespace stallscope::workbench
