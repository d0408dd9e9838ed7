#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/cli/analysis.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/replay_bench.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/content.h"
#include "analyzer/report/layout.h"
#include "analyzer/spec/spec_json.h"
#include "replay/rerun/core_limit.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/sweep/tune.h"
#include "replay/workload/build_workload.h"

namespace stallscope::cli {
namespace {

using report::ReadableBytes;
using report::ReadableNumber;

struct TuneArguments {
  std::string input;
  std::string goal = "throughput";
  unsigned max_runs = 10;
  std::optional<uint64_t> memory;
  std::optional<int64_t> steps;
  std::string mode = "both";
  std::string folder;
  bool yes = false;
  std::string output;
};

void Line(const char* name, const std::string& text) {
  std::printf("%-10s %s\n", name, Printable(text).c_str());
}

std::string RateText(const std::optional<replay::Rate>& rate, const std::string& counted) {
  if (!rate.has_value()) return "not known";
  return fmt::format("{} {}/s ({} to {})", ReadableNumber(rate->samples_per_s), counted,
                     ReadableNumber(rate->low), ReadableNumber(rate->high));
}

// A spec is a JSON file that is no trace; everything else is a trace, or an error of one.
Result<std::optional<Spec>> SpecOfInput(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string begin(4096, '\0');
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, begin.data(), begin.size()));
  begin.resize(got);
  if (model::LooksLike(begin) != model::Content::kJson) return std::optional<Spec>();
  STALLSCOPE_ASSIGN_OR_RETURN(const bool is_trace, importers::IsTrace(path));
  if (is_trace) return std::optional<Spec>();
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ReadSpecFile(path));
  return std::optional<Spec>(std::move(spec));
}

// The run that everything is predicted from, and the spec that is tuned.
struct Start {
  Analysed analysed;
  Spec spec;
  unsigned runs = 0;               // that it took
  std::vector<std::string> notes;  // of a run that brought no spec: what was taken for one
  std::string counted = "samples";
};

Result<Start> RecordFirst(const Spec& spec, const TuneArguments& arguments, ReplayBench* bench) {
  if (bench == nullptr) {
    return Error{ErrorKind::kUsage, "a spec alone does not say what its stages cost",
                 arguments.input, "record it first, or give --mode both"};
  }
  replay::RunWish wish{0, false, &Interrupted, {}};
  bool said = false;
  wish.tell = [&said](bool waiting) {
    if (waiting && !std::exchange(said, true)) {
      std::fprintf(stderr, "%s\n", replay::kWaitingForTurn);
    }
  };
  STALLSCOPE_ASSIGN_OR_RETURN(auto outcome, bench->bench().Measure(spec, wish));
  if (outcome.failed.has_value()) return *std::move(outcome.failed);
  if (outcome.stopped)
    return Error{ErrorKind::kRun, "stopped before the first run was done", "", ""};
  return Start{
      {std::move(outcome.rerun.run), std::move(outcome.rerun.attribution)}, spec, 1, {}, "samples"};
}

// A run of another profiler's is simulated by the stages that its trace shows.
Status TakeStagesForSpec(bool runs_too, Start& start) {
  const model::Run& run = start.analysed.run;
  if (runs_too) {
    return Error{ErrorKind::kInput, "the run has no spec that could be run", run.path,
                 "give --mode simulate; replay --emulate runs stages of the recorded cost"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Workload workload,
                              replay::BuildWorkload(run, start.analysed.attribution));
  start.spec = workload.spec;
  start.notes = workload.recorded->limits;
  if (workload.recorded->counts_steps) start.counted = "steps";
  return {};
}

Result<Start> OpenStart(const TuneArguments& arguments, std::optional<Spec> spec,
                        ReplayBench* bench) {
  if (spec.has_value()) {
    if (arguments.steps) spec->trainer.steps = *arguments.steps;
    return RecordFirst(*spec, arguments, bench);
  }
  Start start;
  STALLSCOPE_ASSIGN_OR_RETURN(start.analysed, Analyse({arguments.input}));
  const model::Run& run = start.analysed.run;
  auto recorded = ReadSpec(run.info.spec_json, run.path);
  if (recorded.ok()) {
    start.spec = std::move(recorded).value();
  } else {
    STALLSCOPE_RETURN_IF_ERROR(TakeStagesForSpec(bench != nullptr, start));
  }
  if (arguments.steps) start.spec.trainer.steps = *arguments.steps;
  if (bench != nullptr) {
    const auto plan = replay::PlanRerun(run, start.spec, arguments.folder);
    STALLSCOPE_RETURN_IF_ERROR(AgreeToRerun(plan, run, arguments.output, arguments.yes));
    start.spec = plan.spec;
  }
  return start;
}

std::vector<Patch> IdeasOf(const report::Report& report) {
  std::vector<Patch> ideas;
  for (const report::FindingRow& finding : report.findings) {
    if (!finding.recommendation || finding.recommendation->patch.changes.empty()) continue;
    ideas.push_back(finding.recommendation->patch);
  }
  return ideas;
}

void PrintTries(const replay::Tuned& tuned) {
  std::vector<std::vector<std::string>> rows{
      {"tried", "predicted", "measured", "runs", "memory", ""}};
  const auto add = [&](const replay::Try& tried, bool best) {
    const auto number = [](const std::optional<replay::Rate>& rate) {
      return rate ? ReadableNumber(rate->samples_per_s) : std::string("-");
    };
    const auto memory = MemoryOf(tried.point);
    rows.push_back({report::CutTo(Printable(NameOf(tried.point)), 50),
                    number(tried.point.predicted), number(Measured(tried.point)),
                    std::to_string(tried.point.runs.size()), memory ? ReadableBytes(*memory) : "-",
                    best                         ? "best"
                    : !tried.point.error.empty() ? "failed"
                                                 : ""});
  };
  add(tuned.base, !tuned.best.has_value());
  for (size_t i = 0; i < tuned.tries.size(); ++i) add(tuned.tries[i], tuned.best == i);
  std::fputs(report::Table(rows, {1, 2, 3, 4}).c_str(), stdout);
  for (const replay::Try& tried : tuned.tries) {
    if (!tried.point.error.empty()) Line("failed", NameOf(tried.point) + ": " + tried.point.error);
  }
}

void PrintResult(const TuneArguments& arguments, const Start& start, const replay::Tuned& tuned,
                 const findings::Verdict& verdict) {
  PrintTries(tuned);
  std::printf("\n");
  const auto rate_of = [&](const replay::Point& point) {
    const auto measured = Measured(point);
    return RateText(measured ? measured : point.predicted, start.counted) +
           (measured ? "" : ", predicted");
  };
  Line("before", rate_of(tuned.base.point));
  if (tuned.best.has_value()) {
    const replay::Try& best = tuned.tries[*tuned.best];
    Line("after", rate_of(best.point));
    if (tuned.comparison.has_value()) Line("answer", tuned.comparison->text);
    if (best.point.cores > 0) Line("cores", std::to_string(best.point.cores) + " are enough");
    const Patch patch = Diff(start.spec, ResultOf(tuned));
    Line("patch", WritePatch(patch, JsonLayout::kOneLine));
  } else {
    const auto& last = tuned.base.point.verdict;
    Line("answer", "nothing that was tried helps");
    Line("bound", last.empty() ? verdict.text : last);
  }
  if (!tuned.bound.empty()) Line("then", "bounded by " + tuned.bound + ", by the simulation");
  Line("ended", fmt::format("{}; {} run{}", tuned.ended, tuned.runs + start.runs,
                            tuned.runs + start.runs == 1 ? "" : "s"));
  if (!arguments.output.empty()) Line("spec", arguments.output);
  for (const std::string& note : start.notes) Line("note", note);
}

Result<replay::Tuned> Work(const TuneArguments& arguments, const Start& start,
                           const report::Report& report, ReplayBench* bench) {
  STALLSCOPE_ASSIGN_OR_RETURN(
      auto predictor, replay::Predictor::Make(start.analysed.run, start.analysed.attribution));
  predictor.SetOptions(replay::ShortSimulation());
  replay::TuneOptions options;
  options.goal = arguments.goal == "cost" ? replay::TuneGoal::kCost : replay::TuneGoal::kThroughput;
  options.max_runs = arguments.max_runs - start.runs;
  options.ideas = IdeasOf(report);
  options.limits.memory_bytes = arguments.memory.value_or(0);
  options.limits.cores = replay::AllowedCores();
  options.limits.threads = static_cast<unsigned>(options.limits.cores);
  options.limits.stop_requested = &Interrupted;
  Progress progress("runs", bench != nullptr ? options.max_runs : 0);
  std::string doing = "simulating";
  options.progress = [&](const std::string& now, unsigned runs) {
    doing = now;
    progress.Show(runs, [&] { return doing; });
  };
  size_t simulated = 0;
  options.limits.simulated = [&](size_t more) {
    simulated += more;
    progress.Show(0, [&] { return fmt::format("{} simulated", simulated); });
  };
  return replay::Tune(predictor, start.spec, bench != nullptr ? &bench->bench() : nullptr, options);
}

Status RunTune(const TuneArguments& arguments) {
  // Before the guard: what waits here for somebody who writes the input can be interrupted.
  STALLSCOPE_ASSIGN_OR_RETURN(std::optional<Spec> spec, SpecOfInput(arguments.input));
  const InterruptGuard guard;
  std::optional<ReplayBench> bench;
  if (arguments.mode == "both") {
    STALLSCOPE_ASSIGN_OR_RETURN(auto made, ReplayBench::Make(replay::PageCache::kAsItIs));
    bench.emplace(std::move(made));
  }
  ReplayBench* const live = bench ? &*bench : nullptr;
  STALLSCOPE_ASSIGN_OR_RETURN(const Start start, OpenStart(arguments, std::move(spec), live));
  // Before the runs: a file that cannot be written is not worth an hour of them.
  std::optional<Output> output;
  if (!arguments.output.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto opened, Output::Open(arguments.output));
    output.emplace(std::move(opened));
  }
  const report::Report report = ReportOn(start.analysed, true);
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Tuned tuned, Work(arguments, start, report, live));
  if (output.has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(output->Write(WriteSpec(ResultOf(tuned))));
    STALLSCOPE_RETURN_IF_ERROR(output->Finish());
  }
  findings::Verdict verdict;
  verdict.text = report.verdict.text;
  PrintResult(arguments, start, tuned, verdict);
  return {};
}

}  // namespace

void AddTune(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find a better configuration: simulate many, run the best, write its spec");
  command->add_option("TRACE|SPEC.json", arguments->input, "A recorded run, or a spec to record")
      ->required();
  command
      ->add_option("--goal", arguments->goal,
                   "The most samples a second, or the fewest cores that keep the device busy")
      ->check(CLI::IsMember({"throughput", "cost"}))
      ->capture_default_str();
  command->add_option("--max-runs", arguments->max_runs, "Runs at most")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command->add_option("--memory", arguments->memory, "Bytes of memory that a run may need");
  command->add_option("--steps", arguments->steps, "Steps of each run, instead of the spec's");
  command->add_option("--mode", arguments->mode, "Simulate and run, or simulate only")
      ->check(CLI::IsMember({"both", "simulate"}))
      ->capture_default_str();
  command->add_option("--folder", arguments->folder,
                      "Where the run's data is, instead of the folder in which it was recorded");
  command->add_flag("--yes", arguments->yes,
                    "Run what another user recorded, or what reads outside of its folder, without "
                    "a question");
  command->add_option("-o,--output", arguments->output,
                      "The spec to write: the best that was found");
  command->callback([arguments, &exit_code] {
    const Status done = RunTune(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
