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
#include "analyzer/base/file.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/words/words.h"
#include "replay/rerun/core_limit.h"
#include "replay/sweep/sweep_table.h"
#include "replay/workbench/replaying.h"

namespace stallscope::cli {
namespace {

using replay::SweepMode;

struct ReplayArguments {
  std::string trace;
  std::vector<std::string> settings;
  std::vector<std::string> vary;
  std::vector<std::string> patches;
  bool verify = false;
  std::string mode;  // empty: both, or what the trace allows
  unsigned repeats = 2;
  std::optional<int64_t> steps;
  std::optional<int64_t> throttle;
  std::string page_cache;  // empty: as-is, or cold for the first epoch of a pipeline
  bool first_epoch = false;
  std::string folder;
  bool resume = false;
  bool emulate = false;
  bool yes = false;
  std::vector<std::string> reports;
  std::string output;
};

// A job's files are unknown, so its first epoch runs with the page cache as it is.
replay::PageCache PageCacheOf(const ReplayArguments& arguments, const Spec& spec) {
  const std::string& word = arguments.page_cache;
  if (word == "warm") return replay::PageCache::kWarm;
  const bool cold = word == "cold" || (word.empty() && arguments.first_epoch && !IsJob(spec));
  return cold ? replay::PageCache::kCold : replay::PageCache::kAsItIs;
}

// Nothing: both, or what the trace allows. A verification must run something.
std::optional<SweepMode> ModeOf(const ReplayArguments& arguments) {
  if (!arguments.settings.empty()) return SweepMode::kRerun;
  if (arguments.mode.empty() && arguments.verify) return SweepMode::kBoth;
  return replay::SweepModeOf(arguments.mode);
}

Result<replay::Sweep> PlanPoints(const ReplayArguments& arguments, const workbench::Opened& opened,
                                 const workbench::ReplaySubject& subject) {
  if (arguments.verify) {
    replay::Sweep sweep = subject.PlanVerification(workbench::Analyze(opened));
    if (sweep.points.empty()) {
      sweep.warnings.emplace_back("no recommendation that a replay could try");
    }
    return sweep;
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const workbench::GridPlan grid,
                              subject.ReadGrid(arguments.vary, arguments.patches));
  if (grid.points > replay::kManyPoints && !arguments.yes) {
    const std::string size = fmt::format("the grid has {} points", grid.points);
    if (!AskedYes(size + "; continue?")) {
      return Error{ErrorKind::kUsage, size, "--vary",
                   "pass --yes to continue, or let stallscope tune find the best"};
    }
  }
  return subject.PlanGrid(grid);
}

// Draws a sweep's progress, with the rate of this process's own work.
class SweepBar {
 public:
  void Show(const replay::SweepProgress& at) {
    if (!progress_ || at.phase != phase_) {
      progress_.reset();
      phase_ = at.phase;
      begin_ = at.done;
      progress_.emplace(std::string(WordFor(at.phase)), 0);
    }
    progress_->SetTotal(static_cast<int64_t>(at.total - begin_));
    progress_->Show(static_cast<int64_t>(at.done - begin_), [&] { return at.now; });
  }

 private:
  std::optional<ProgressBar> progress_;
  replay::SweepPhase phase_ = replay::SweepPhase::kPredictions;
  size_t begin_ = 0;
};

// A sweep fails only where every configuration failed.
Status CheckSomethingRan(const replay::Sweep& sweep) {
  for (size_t i = 0; i < replay::Configurations(sweep); ++i) {
    if (replay::ConfigurationAt(sweep, i).error.empty()) return {};
  }
  const std::string first = replay::ConfigurationAt(sweep, 0).error;
  return Error{ErrorKind::kRun, "every configuration failed; the first: " + first, "", ""};
}

Status Report(const ReplayArguments& arguments, const replay::Sweep& sweep) {
  STALLSCOPE_RETURN_IF_ERROR(WriteSweepReports(replay::TableOf(sweep), arguments.reports));
  if (!replay::IsComplete(sweep)) {
    std::fprintf(
        stderr, "stallscope: stopped; %s keeps the finished points, --resume continues from them\n",
        Printable(arguments.output).c_str());
    return {};
  }
  return CheckSomethingRan(sweep);
}

Status CheckUsage(const ReplayArguments& arguments) {
  const bool grid = !arguments.vary.empty() || !arguments.patches.empty();
  const int ways =
      (grid ? 1 : 0) + (arguments.verify ? 1 : 0) + (arguments.settings.empty() ? 0 : 1);
  if (ways != 1) {
    return Error{
        ErrorKind::kUsage,
        ways > 1 ? "--set, --verify, and --vary or --patch cannot be combined" : "nothing to try",
        "", "pass --set PATH=VALUE, --vary PATH=V1,V2,..., --patch FILE or --verify"};
  }
  if (!arguments.settings.empty()) {
    if (arguments.resume || !arguments.reports.empty() ||
        (!arguments.mode.empty() && arguments.mode != "rerun")) {
      return Error{ErrorKind::kUsage, "--set makes one run, and no sweep", "",
                   "leave out --mode, --resume and --report, or use --vary"};
    }
    return {};
  }
  if (SweepFormOf(arguments.output)) {
    return Error{ErrorKind::kUsage, "the sweep file is JSON", arguments.output,
                 "end -o in .json, and name the page or table with --report"};
  }
  return CheckSweepReports(arguments.reports);
}

std::string RateText(const attribution::Throughput& rate) {
  return fmt::format("{} samples/s ({} to {})", words::Number(rate.samples_per_s),
                     words::Number(rate.low), words::Number(rate.high));
}

// The recorded run, with other settings, as a trace of its own.
Status RunOnce(const ReplayArguments& arguments, const workbench::Opened& opened,
               workbench::ReplaySubject& subject) {
  STALLSCOPE_ASSIGN_OR_RETURN(const Spec spec, subject.With(arguments.settings));
  // Before the run: an output that cannot be written should not cost one.
  STALLSCOPE_RETURN_IF_ERROR(OutputFile::Create(arguments.output));
  if (subject.plan().has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(
        AgreeToRerun(*subject.plan(), *opened.run, arguments.output, arguments.yes));
  }
  workbench::SingleRun how;
  how.output = arguments.output;
  STALLSCOPE_ASSIGN_OR_RETURN(how.program, ProgramPath());
  how.page_cache = PageCacheOf(arguments, spec);
  how.cancel = Interruption();
  const InterruptGuard guard;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto done, [&] {
    ProgressBar bar("run", 1);
    how.tell = [&](bool waiting) {
      bar.Show(0, [&] { return waiting ? replay::kWaitingForTurn : "running"; });
    };
    return subject.RunOnce(spec, how);
  }());
  if (!done.has_value()) {
    return Error{ErrorKind::kRun, "stopped before the run ended; nothing was written", "", ""};
  }
  const auto line = [](const char* name, const std::string& text) {
    std::printf("%-10s %s\n", name, Printable(text).c_str());
  };
  const auto& recorded = opened.attribution->throughput;
  line("recorded", recorded ? RateText(*recorded) : "unknown");
  line("measured", RateText(*done->rerun.attribution.throughput));
  line("verdict", done->verdict);
  if (done->figure.memory_bytes > 0) line("memory", words::Bytes(done->figure.memory_bytes));
  const std::string effect = subject.SideEffectOf(spec);
  if (!effect.empty()) line("note", effect);
  line("trace", arguments.output);
  return {};
}

Status RunReplay(const ReplayArguments& arguments) {
  STALLSCOPE_RETURN_IF_ERROR(CheckUsage(arguments));
  STALLSCOPE_ASSIGN_OR_RETURN(const workbench::Opened opened,
                              workbench::Open({arguments.trace}, PrintWarnings(),
                                              workbench::PartOf(arguments.first_epoch)));
  STALLSCOPE_ASSIGN_OR_RETURN(workbench::ReplaySubject subject,
                              workbench::ReplaySubject::Make(
                                  opened, {ModeOf(arguments), arguments.emulate, arguments.folder,
                                           arguments.steps, arguments.throttle}));
  if (!arguments.settings.empty()) return RunOnce(arguments, opened, subject);
  STALLSCOPE_ASSIGN_OR_RETURN(replay::Sweep planned, PlanPoints(arguments, opened, subject));
  planned.repeats = arguments.repeats;
  if (subject.plan().has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(
        AgreeToRerun(*subject.plan(), *opened.run, arguments.output, arguments.yes));
  }
  workbench::SweepRun how;
  how.output = arguments.output;
  how.resume = arguments.resume;
  how.combine = arguments.verify;
  how.job = replay::JobFromEnvironment();
  STALLSCOPE_ASSIGN_OR_RETURN(how.program, ProgramPath());
  how.page_cache = PageCacheOf(arguments, subject.spec());
  how.threads = static_cast<unsigned>(std::max(1, replay::AllowedCores() / how.job.local_size));
  how.cancel = Interruption();
  const InterruptGuard guard;
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Sweep done, [&] {
    SweepBar bar;
    if (how.job.rank == 0) {
      how.progress = [&](const replay::SweepProgress& at) { bar.Show(at); };
    }
    return subject.Run(planned, how);
  }());
  if (how.job.rank != 0) return {};
  return Report(arguments, done);
}

}  // namespace

void AddReplay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand(
      "replay", "Try other settings for a recorded run: predict and run each, and compare the two");
  command->add_option("TRACE", arguments->trace, "Recorded run")->required();
  command
      ->add_option("--set", arguments->settings,
                   "Make one run with another setting, and keep its trace: PATH=VALUE (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--vary", arguments->vary,
                   "Values to try for a setting: PATH=V1,V2,... (repeatable: all combinations)")
      ->allow_extra_args(false);
  command
      ->add_option("--patch", arguments->patches,
                   "File with a patch of the spec to try, as a report prints one (repeatable)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag("--verify", arguments->verify,
                    "Try each recommendation of the run's report, then those that help together");
  command->add_option("--mode", arguments->mode, "Predict (simulate), run (rerun), or both")
      ->check(CLI::IsMember({"rerun", "simulate", "both"}));
  command->add_option("--repeats", arguments->repeats, "Runs per configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--steps", arguments->steps,
                   "Steps per run (default: as recorded; of a job enough for an interval)")
      ->check(StepCounts());
  command->add_option("--throttle", arguments->throttle,
                      "Limit on the source's reads, in bytes per second");
  command
      ->add_option(
          "--page-cache", arguments->page_cache,
          "State of the page cache before each run (default: as-is, or cold for a pipeline "
          "with --first-epoch)")
      ->check(CLI::IsMember({"as-is", "warm", "cold"}));
  command->add_flag("--first-epoch", arguments->first_epoch,
                    "Predict and measure the first epoch, or the cold start, of each run");
  command->add_flag("--resume", arguments->resume,
                    "Continue from the finished points in the sweep file");
  command->add_flag("--emulate", arguments->emulate,
                    "Run stages of the recorded cost instead of the recorded data and code");
  command
      ->add_option("--folder", arguments->folder,
                   "Folder of the run's data (default: where the run was recorded)")
      ->type_name("FOLDER");
  command->add_flag("--yes", arguments->yes,
                    "Do not ask before running your own job or another user's recording, one that "
                    "reads outside its folder, or a very large grid");
  command
      ->add_option("--report", arguments->reports,
                   "Also write the table to a file ending in .html, .md or .txt (repeatable)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", arguments->output,
                   "Sweep file to write (JSON); with --set the trace")
      ->type_name("FILE")
      ->required();
  command->callback([arguments, &exit_code] {
    const Status done = RunReplay(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
