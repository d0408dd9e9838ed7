#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/report/text.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "replay/workbench/tuning.h"

namespace stallscope::cli {
namespace {

struct TuneArguments {
  std::string input;
  std::string goal = "throughput";
  unsigned max_runs = 10;
  std::optional<uint64_t> memory;
  std::optional<int64_t> steps;
  std::string mode = "both";
  std::string folder;
  std::string keep;
  bool yes = false;
  std::string output;
};

void Line(const char* name, const std::string& text) {
  std::printf("%-10s %s\n", name, Printable(text).c_str());
}

// Prose fits the terminal; what may be copied is on a Line, whole.
void Sentence(const char* name, const std::string& text) {
  constexpr size_t kIndent = 11;
  for (const std::string& line :
       words::Wrapped(fmt::format("{:<10} {}", name, text), report::kTextWidth, kIndent)) {
    std::printf("%s\n", line.c_str());
  }
}

std::string RateText(const std::optional<replay::Rate>& rate, const std::string& counted) {
  if (!rate.has_value()) return "unknown";
  return fmt::format("{} {}/s ({} to {})", words::Number(rate->samples_per_s), counted,
                     words::Number(rate->low), words::Number(rate->high));
}

// A name that does not fit is a number in the table, and in full below it.
class TryNames {
 public:
  std::string CellOf(const replay::Point& point) {
    const std::string name = Printable(NameOf(point));
    if (words::TextWidth(name) <= kWidth) return name;
    long_.push_back(name);
    return "#" + std::to_string(long_.size());
  }
  void Print() const {
    for (size_t i = 0; i < long_.size(); ++i) Line(("#" + std::to_string(i + 1)).c_str(), long_[i]);
  }

 private:
  static constexpr size_t kWidth = 32;
  std::vector<std::string> long_;
};

void PrintTries(const replay::Tuned& tuned) {
  TryNames names;
  std::vector<std::vector<std::string>> rows{
      {"tried", "predicted", "measured", "runs", "memory", ""}};
  const auto add = [&](const replay::Try& tried, bool best) {
    const auto number = [](const std::optional<replay::Rate>& rate) {
      return rate ? words::Number(rate->samples_per_s) : std::string("-");
    };
    const auto memory = MemoryOf(tried.point);
    rows.push_back({names.CellOf(tried.point), number(tried.point.predicted),
                    number(Measured(tried.point)), std::to_string(tried.point.runs.size()),
                    memory ? words::Bytes(*memory) : "-",
                    best                         ? "best"
                    : !tried.point.error.empty() ? "failed"
                                                 : ""});
  };
  add(tuned.base, !tuned.best.has_value());
  for (size_t i = 0; i < tuned.tries.size(); ++i) add(tuned.tries[i], tuned.best == i);
  std::fputs(report::AlignedTable(rows, {1, 2, 3, 4}).c_str(), stdout);
  names.Print();
  for (const replay::Try& tried : tuned.tries) {
    if (!tried.point.error.empty()) Line("failed", NameOf(tried.point) + ": " + tried.point.error);
  }
}

// The diff is printed at the margin and apart, for copying.
void PrintChanges(const std::vector<findings::SourceChange>& changes) {
  for (const findings::SourceChange& change : changes) {
    for (const std::string& text : change.by_hand) Sentence("by hand", Printable(text));
  }
  const std::string diff = findings::DiffOf(changes);
  if (!diff.empty()) std::printf("\n%s\n", PrintableLines(diff).c_str());
}

void PrintResult(const TuneArguments& arguments, const workbench::TuneSubject& subject,
                 const replay::Tuned& tuned, const report::Report& report) {
  PrintTries(tuned);
  std::printf("\n");
  const auto rate_of = [&](const replay::Point& point) {
    const auto measured = Measured(point);
    return RateText(measured ? measured : point.predicted, subject.counted()) +
           (measured ? "" : ", predicted");
  };
  Line("before", rate_of(tuned.base.point));
  if (tuned.best.has_value()) {
    const replay::Try& best = tuned.tries[*tuned.best];
    Line("after", rate_of(best.point));
    if (tuned.comparison.has_value()) Sentence("answer", tuned.comparison->text);
    if (best.point.cores > 0) Line("cores", std::to_string(best.point.cores) + " suffice");
    const Patch patch = Diff(subject.spec(), ResultOf(tuned));
    Line("patch", WritePatch(patch, JsonLayout::kOneLine));
    for (const auto& [name, text] : subject.HowToSet(ResultOf(tuned))) Line(name.c_str(), text);
    PrintChanges(subject.SourceChanges(ResultOf(tuned)));
  } else {
    const auto& last = tuned.base.point.verdict;
    Line("answer",
         tuned.tries.empty() ? "nothing else was tried" : "nothing that was tried helped");
    Line("bound", last.empty() ? report.verdict.text : last);
  }
  if (!tuned.bound.empty())
    Sentence("then", "bounded by " + tuned.bound + ", according to the simulation");
  if (!tuned.unlimited.empty()) Sentence("memory", tuned.unlimited);
  const unsigned runs = tuned.runs + subject.runs();
  Sentence("ended", fmt::format("{}; {} run{}{}", tuned.ended, runs, runs == 1 ? "" : "s",
                                subject.found() > 0
                                    ? fmt::format(", {} of them kept from before", subject.found())
                                    : ""));
  if (!arguments.output.empty()) {
    Line(IsJob(subject.spec()) ? "settings" : "spec", arguments.output);
    if (!findings::DiffOf(subject.SourceChanges(ResultOf(tuned))).empty()) {
      Line("to apply",
           ShellCommand({"stallscope", "apply", arguments.input, "--patch", arguments.output}));
    }
  }
  for (const std::string& note : subject.notes()) Sentence("note", note);
}

Result<replay::Tuned> Work(const TuneArguments& arguments, workbench::TuneSubject& subject,
                           const report::Report& report) {
  const bool runs = arguments.mode == "both";
  ProgressBar bar(runs ? "runs" : "configurations simulated",
                  runs ? arguments.max_runs - subject.runs() : 0, ProgressBar::Total::kAtMost);
  size_t made = 0;
  size_t simulated = 0;
  const auto show = [&](const std::function<std::string()>& more) {
    bar.Show(static_cast<int64_t>(runs ? made : simulated), more);
  };
  workbench::TuneWatch watch;
  watch.on_progress = [&](const std::string& doing, unsigned done) {
    made = done;
    show([&] { return doing; });
  };
  watch.on_simulated = [&](size_t more) {
    simulated += more;
    show([&] { return runs ? fmt::format("{} simulated", simulated) : std::string(); });
  };
  return subject.Run(report, watch);
}

workbench::TuneRequest RequestOf(const TuneArguments& arguments) {
  workbench::TuneRequest request;
  request.input = arguments.input;
  request.goal = arguments.goal == "cost" ? replay::TuneGoal::kCost : replay::TuneGoal::kThroughput;
  request.max_runs = arguments.max_runs;
  request.memory_bytes = arguments.memory.value_or(0);
  request.steps = arguments.steps;
  request.simulate_only = arguments.mode == "simulate";
  request.folder = arguments.folder;
  request.keep = arguments.keep;
  request.cancel = Interruption();
  request.watch = PrintWarnings();
  request.on_waiting = [] { std::fprintf(stderr, "%s\n", replay::kWaitingForTurn); };
  return request;
}

Status RunTune(const TuneArguments& arguments) {
  // Before the guard, so that Ctrl-C ends a wait for the writer of a pipe.
  STALLSCOPE_ASSIGN_OR_RETURN(const std::optional<Spec> spec,
                              workbench::ReadIfSpec(arguments.input));
  const InterruptGuard guard;
  workbench::TuneRequest request = RequestOf(arguments);
  STALLSCOPE_ASSIGN_OR_RETURN(request.program, ProgramPath());
  STALLSCOPE_ASSIGN_OR_RETURN(auto subject, workbench::TuneSubject::Make(std::move(request), spec));
  const model::Run& run = *subject.opened().run;
  if (subject.plan().has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(AgreeToRerun(*subject.plan(), run, arguments.output, arguments.yes));
  }
  // Before the runs: an output that cannot be written should not cost an hour of them.
  std::optional<Output> output;
  if (!arguments.output.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto opened, Output::Open(arguments.output));
    output.emplace(std::move(opened));
  }
  const report::Report report = workbench::Analyze(subject.opened());
  STALLSCOPE_ASSIGN_OR_RETURN(const replay::Tuned tuned, Work(arguments, subject, report));
  if (output.has_value()) {
    // Of a job only what differs is worth writing: `replay --patch` takes it.
    const Spec best = ResultOf(tuned);
    STALLSCOPE_RETURN_IF_ERROR(
        output->Write(IsJob(best) ? WritePatch(Diff(subject.spec(), best)) : WriteSpec(best)));
    STALLSCOPE_RETURN_IF_ERROR(output->Finish());
  }
  PrintResult(arguments, subject, tuned, report);
  return {};
}

}  // namespace

void AddTune(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find a better configuration: simulate many, run the best, and write its spec");
  command
      ->add_option("TRACE|SPEC.json", arguments->input, "Recorded run, or a spec to record first")
      ->required();
  command
      ->add_option("--goal", arguments->goal,
                   "Most samples per second, or fewest cores that keep the device busy")
      ->check(CLI::IsMember({"throughput", "cost"}))
      ->capture_default_str();
  command->add_option("--max-runs", arguments->max_runs, "Maximum number of runs")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command->add_option("--memory", arguments->memory, "Memory limit of a run, in bytes");
  command->add_option("--steps", arguments->steps, "Steps per run (default: the spec's)")
      ->check(StepCounts());
  command->add_option("--mode", arguments->mode, "Simulate and run, or simulate only")
      ->check(CLI::IsMember({"both", "simulate"}))
      ->capture_default_str();
  command
      ->add_option("--folder", arguments->folder,
                   "Folder of the run's data (default: where the run was recorded)")
      ->type_name("FOLDER");
  command->add_flag(
      "--yes", arguments->yes,
      "Do not ask before running your own job or another user's recording, or one that "
      "reads outside its folder");
  command
      ->add_option("--keep", arguments->keep,
                   "Folder for the runs' traces: started again, tune does not repeat them")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("-o,--output", arguments->output,
                   "Spec to write: the best one found; of a job a patch of its settings")
      ->type_name("FILE");
  command->callback([arguments, &exit_code] {
    const Status done = RunTune(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
