#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/replay_bench.h"
#include "analyzer/cli/sweep_outputs.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "replay/rerun/core_limit.h"
#include "replay/rerun/emulate.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/run_sweep.h"
#include "replay/sweep/sweep_table.h"

namespace stallscope::cli {
namespace {

using replay::SweepMode;

struct ReplayArguments {
  std::string trace;
  std::vector<std::string> vary;
  std::vector<std::string> patches;
  bool verify = false;
  std::string mode;  // empty: both, or what the trace allows
  unsigned repeats = 2;
  std::optional<int64_t> steps;
  std::optional<int64_t> throttle;
  std::string page_cache = "as-is";
  std::string folder;
  bool resume = false;
  bool emulate = false;
  bool yes = false;
  std::vector<std::string> reports;
  std::string output;
};

replay::PageCache PageCacheOf(const std::string& word) {
  if (word == "warm") return replay::PageCache::kWarm;
  return word == "cold" ? replay::PageCache::kCold : replay::PageCache::kAsItIs;
}

// What the sweep's points change: the recorded spec, and what is run in its place.
struct Subject {
  Analysed analysed;
  std::optional<replay::Predictor> predictor;
  std::optional<Error> unpredictable;  // why there is none
  bool has_spec = false;
  Spec recorded;
  Spec run;
  std::optional<replay::RerunPlan> plan;  // where the recorded spec is run
  std::vector<std::string> warnings;
};

// --steps and --throttle hold for every configuration, the base included.
Result<Spec> WithRunSettings(Spec spec, const ReplayArguments& arguments) {
  std::vector<std::string> settings;
  if (arguments.steps) settings.push_back("trainer.steps=" + std::to_string(*arguments.steps));
  if (arguments.throttle && !spec.stages.empty()) {
    settings.push_back(spec.stages.front().name +
                       ".throttle_bytes_per_s=" + std::to_string(*arguments.throttle));
  }
  return ApplySettings(std::move(spec), settings);
}

Result<Subject> OpenSubject(const ReplayArguments& arguments) {
  Subject subject;
  STALLSCOPE_ASSIGN_OR_RETURN(subject.analysed, Analyse({arguments.trace}));
  const model::Run& run = subject.analysed.run;
  auto predictor = replay::Predictor::Make(run, subject.analysed.attribution);
  if (predictor.ok()) {
    subject.predictor = std::move(predictor).value();
  } else {
    subject.unpredictable = predictor.error();
  }
  auto spec = ReadSpec(run.info.spec_json, run.path);
  subject.has_spec = spec.ok();
  if (spec.ok()) {
    subject.recorded = std::move(spec).value();
  } else if (subject.predictor.has_value()) {
    subject.recorded = subject.predictor->workload().spec;
    for (const std::string& limit : subject.predictor->workload().recorded->limits) {
      subject.warnings.push_back(limit);
    }
  } else {
    return Error{ErrorKind::kInput,
                 "the run has no spec, and its trace does not tell what its stages cost (" +
                     subject.unpredictable->Line() + ")",
                 run.path, "replay a run that stallscope recorded"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(subject.recorded, WithRunSettings(subject.recorded, arguments));
  subject.run = subject.recorded;
  return subject;
}

Status Emulate(const ReplayArguments& arguments, Subject& subject) {
  if (!subject.predictor.has_value()) return *subject.unpredictable;
  STALLSCOPE_ASSIGN_OR_RETURN(auto emulation,
                              replay::Emulate(*subject.predictor->workload().recorded));
  STALLSCOPE_ASSIGN_OR_RETURN(subject.run, WithRunSettings(emulation.spec, arguments));
  subject.warnings.emplace_back("emulated: stages burn and sleep by the recorded distributions");
  for (std::string& limit : emulation.limits) subject.warnings.push_back(std::move(limit));
  return {};
}

// What of predicting and running is asked for and can be done.
Result<SweepMode> ModeOf(const ReplayArguments& arguments, Subject& subject) {
  const bool can_run = subject.has_spec || arguments.emulate;
  SweepMode mode = replay::SweepModeOf(arguments.mode).value_or(SweepMode::kBoth);
  if (arguments.mode.empty() && !arguments.verify && !can_run) mode = SweepMode::kSimulate;
  if (mode != SweepMode::kSimulate && !can_run) {
    return Error{ErrorKind::kInput, "the run has no spec that could be run", arguments.trace,
                 "give --mode simulate, or --emulate to run stages of the recorded cost"};
  }
  if (mode != SweepMode::kRerun && subject.unpredictable.has_value()) {
    if (mode == SweepMode::kSimulate) return *subject.unpredictable;
    subject.warnings.push_back("nothing is predicted: " + subject.unpredictable->Line());
    mode = SweepMode::kRerun;
  }
  if (arguments.emulate) {
    STALLSCOPE_RETURN_IF_ERROR(Emulate(arguments, subject));
  } else if (mode != SweepMode::kSimulate) {
    const auto plan = replay::PlanRerun(subject.analysed.run, subject.recorded, arguments.folder);
    subject.run = plan.spec;
    subject.plan = plan;
  }
  return mode;
}

Status PlanPoints(const ReplayArguments& arguments, const Subject& subject, replay::Sweep& sweep) {
  if (arguments.verify) {
    replay::PlanVerification(ReportOn(subject.analysed, true), sweep);
    if (sweep.points.empty()) {
      sweep.warnings.emplace_back("nothing is recommended that a replay could try");
    }
    return {};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const auto axes, replay::ParseGrid(arguments.vary, subject.run));
  std::vector<replay::NamedPatch> patches;
  for (const std::string& file : arguments.patches) {
    STALLSCOPE_ASSIGN_OR_RETURN(Patch patch, ReadPatchFile(file));
    // A patch that does not fit is wrong usage, and not a point that fails.
    STALLSCOPE_RETURN_IF_ERROR(Apply(subject.run, patch));
    patches.push_back({file, std::move(patch)});
  }
  const uint64_t points = replay::CountPoints(axes) + patches.size();
  if (points > replay::kManyPoints && !arguments.yes) {
    const std::string grid = fmt::format("the grid has {} points", points);
    if (!AskedYes(grid + "; go on?")) {
      return Error{ErrorKind::kUsage, grid, "--vary",
                   "give --yes to go on, or let stallscope tune look for the best"};
    }
  }
  replay::PlanGrid(subject.run, axes, patches, sweep);
  return {};
}

// Draws what a sweep tells, with the rate of this process's own work.
class SweepBar {
 public:
  void Show(const replay::SweepProgress& at) {
    if (!progress_ || at.doing != doing_) {
      progress_.reset();
      doing_ = at.doing;
      begin_ = at.done;
      progress_.emplace(at.doing, static_cast<int64_t>(at.total - at.done));
    }
    progress_->Show(static_cast<int64_t>(at.done - begin_), [&] { return at.now; });
  }

 private:
  std::optional<Progress> progress_;
  std::string doing_;
  size_t begin_ = 0;
};

Result<replay::Sweep> Work(const ReplayArguments& arguments, Subject& subject,
                           replay::Sweep planned, replay::SweepWork& work) {
  auto bar = std::make_unique<SweepBar>();
  if (work.file.job.rank == 0) {
    work.progress = [&](const replay::SweepProgress& at) { bar->Show(at); };
  }
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Sweep done, replay::RunSweep(planned, work));
  if (!arguments.verify || !replay::IsComplete(done) || Interrupted()) return done;
  const size_t before = done.points.size();
  replay::PlanCombination(subject.run, work.predictor, done);
  if (done.points.size() == before) return done;
  work.file.resume = true;
  return replay::RunSweep(done, work);
}

// A sweep of which nothing could be run has failed; one of which something could has not.
Status Judge(const replay::Sweep& sweep) {
  for (size_t i = 0; i < replay::Configurations(sweep); ++i) {
    if (replay::ConfigurationAt(sweep, i).error.empty()) return {};
  }
  const std::string first = replay::ConfigurationAt(sweep, 0).error;
  return Error{ErrorKind::kRun, "every configuration failed; the first: " + first, "", ""};
}

Status Report(const ReplayArguments& arguments, const replay::Sweep& sweep) {
  STALLSCOPE_RETURN_IF_ERROR(WriteSweepReports(replay::TableOf(sweep), arguments.reports));
  if (!replay::IsComplete(sweep)) {
    std::fprintf(stderr, "stallscope: stopped; %s keeps what is done, --resume goes on from it\n",
                 Printable(arguments.output).c_str());
    return {};
  }
  return Judge(sweep);
}

Status CheckUsage(const ReplayArguments& arguments) {
  const bool grid = !arguments.vary.empty() || !arguments.patches.empty();
  if (grid == arguments.verify) {
    return Error{ErrorKind::kUsage,
                 grid ? "--verify tries the recommendations alone" : "nothing is to be tried", "",
                 "give --vary PATH=V1,V2,... or --patch FILE, or else --verify"};
  }
  return CheckSweepReports(arguments.reports);
}

Status RunReplay(const ReplayArguments& arguments) {
  STALLSCOPE_RETURN_IF_ERROR(CheckUsage(arguments));
  STALLSCOPE_ASSIGN_OR_RETURN(Subject subject, OpenSubject(arguments));
  STALLSCOPE_ASSIGN_OR_RETURN(const SweepMode mode, ModeOf(arguments, subject));
  // By the recorded spec, wherever its data is now: the sweep goes on from any folder.
  replay::Sweep planned =
      replay::SweepOf(subject.analysed.run, arguments.emulate ? subject.run : subject.recorded);
  planned.mode = mode;
  planned.emulated = arguments.emulate;
  planned.repeats = arguments.repeats;
  planned.warnings = subject.warnings;
  planned.counts_steps =
      subject.predictor.has_value() && subject.predictor->workload().recorded->counts_steps;
  STALLSCOPE_RETURN_IF_ERROR(PlanPoints(arguments, subject, planned));
  replay::SweepWork work;
  work.file = {arguments.output, arguments.resume, replay::JobFromEnvironment(), &Interrupted};
  work.spec = subject.run;
  work.predicted_spec = subject.recorded;
  if (mode != SweepMode::kRerun) {
    subject.predictor->SetOptions(replay::SimulationFor(planned.points.size()));
    work.predictor = &*subject.predictor;
  }
  if (subject.plan.has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(
        AgreeToRerun(*subject.plan, subject.analysed.run, arguments.output, arguments.yes));
  }
  std::optional<ReplayBench> bench;
  if (mode != SweepMode::kSimulate) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto made, ReplayBench::Make(PageCacheOf(arguments.page_cache)));
    bench.emplace(std::move(made));
    work.bench = &bench->bench();
  }
  work.threads =
      static_cast<unsigned>(std::max(1, replay::AllowedCores() / work.file.job.local_size));
  work.stop_requested = &Interrupted;
  const InterruptGuard guard;
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep sweep,
                              Work(arguments, subject, std::move(planned), work));
  if (work.file.job.rank != 0) return {};
  return Report(arguments, sweep);
}

}  // namespace

void AddReplay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand(
      "replay", "Try other settings for a recorded run: predict each, run each, compare both");
  command->add_option("TRACE", arguments->trace, "The recorded run")->required();
  command
      ->add_option("--vary", arguments->vary,
                   "Values to try for a setting: PATH=V1,V2,...; "
                   "again for another one: all combinations")
      ->allow_extra_args(false);
  command
      ->add_option("--patch", arguments->patches,
                   "A change of the spec to try (JSON); again for "
                   "another one")
      ->allow_extra_args(false);
  command->add_flag("--verify", arguments->verify,
                    "Try each recommendation of the run's report, then all that help together");
  command->add_option("--mode", arguments->mode, "Predict, run, or both")
      ->check(CLI::IsMember({"rerun", "simulate", "both"}));
  command->add_option("--repeats", arguments->repeats, "Runs of each configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--steps", arguments->steps,
                      "Steps of each run, instead of the recorded ones");
  command->add_option("--throttle", arguments->throttle,
                      "Bytes a second that the source may read, in each run");
  command
      ->add_option("--page-cache", arguments->page_cache,
                   "Whether the data lies in memory when a run begins")
      ->check(CLI::IsMember({"as-is", "warm", "cold"}))
      ->capture_default_str();
  command->add_flag("--resume", arguments->resume, "Go on from what the sweep file holds");
  command->add_flag("--emulate", arguments->emulate,
                    "Run stages of the recorded cost instead of the recorded data and code");
  command->add_option("--folder", arguments->folder,
                      "Where the run's data is, instead of the folder in which it was recorded");
  command->add_flag("--yes", arguments->yes,
                    "Run what another user recorded, or what reads outside of its folder, and a "
                    "grid of very many points, without a question");
  command
      ->add_option("--report", arguments->reports,
                   "Also write the table into a file that ends in .html, .md or .txt")
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->output, "The sweep file to write (JSON)")
      ->required();
  command->callback([arguments, &exit_code] {
    const Status done = RunReplay(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
