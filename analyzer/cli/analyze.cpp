#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/budget/budget.h"
#include "analyzer/budget/metric.h"
#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/compare/compare.h"
#include "analyzer/report/report.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> traces;
  std::vector<std::string> base;
  std::string budget;
  std::string inconclusive = "fail";
  bool no_price = false;
  bool first_epoch = false;
  std::unique_ptr<ReportOutputs> outputs;
};

// For a log that has no report: what its exit code is about.
void SayMissed(const std::vector<report::CheckRow>& checks) {
  for (const report::CheckRow& check : checks) {
    if (check.level != report::CheckLevel::kError || check.outcome == report::Outcome::kPass) {
      continue;
    }
    std::fprintf(stderr, "stallscope: budget: %s\n", Printable(check.text).c_str());
  }
}

// The base runs against this one, where the budget needs them.
Result<std::optional<compare::Comparison>> AgainstBase(const AnalyzeArguments& arguments,
                                                       const workbench::Opened& now) {
  if (arguments.base.empty()) return std::optional<compare::Comparison>();
  STALLSCOPE_ASSIGN_OR_RETURN(const auto base,
                              workbench::Summarize(arguments.base, PrintWarnings(),
                                                   workbench::PartOf(arguments.first_epoch)));
  return std::optional(compare::Compare(base, {workbench::Summarize(now)}));
}

Result<int> RunAnalyze(const AnalyzeArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto outputs, arguments.outputs->Asked());
  std::optional<budget::Budget> budget;
  if (!arguments.budget.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(budget, budget::ReadBudgetFile(arguments.budget));
    if (budget->NeedsBase() && arguments.base.empty()) {
      return Error{ErrorKind::kUsage, "max_regression needs a run to compare against",
                   arguments.budget, "pass --base TRACE"};
    }
  }
  STALLSCOPE_ASSIGN_OR_RETURN(
      const workbench::Opened opened,
      workbench::Open(arguments.traces, PrintWarnings(), workbench::PartOf(arguments.first_epoch)));
  report::Report report = workbench::Analyze(opened, {.price = !arguments.no_price});
  if (std::any_of(outputs.begin(), outputs.end(),
                  [](const ReportOutput& output) { return output.form == report::Form::kHtml; })) {
    report.pictures = report::PicturesOf(*opened.run, *opened.attribution);
  }
  const bool inconclusive_fails = arguments.inconclusive == "fail";
  int exit_code = 0;
  if (budget.has_value()) {
    STALLSCOPE_ASSIGN_OR_RETURN(report.against_base, AgainstBase(arguments, opened));
    const compare::Comparison* const base = report.against_base ? &*report.against_base : nullptr;
    STALLSCOPE_ASSIGN_OR_RETURN(report.budget, budget::CheckBudget(*budget, report, base));
    switch (budget::GateOf(*report.budget)) {
      case budget::Gate::kHeld:
        break;
      case budget::Gate::kFailed:
        exit_code = kExitFailed;
        break;
      case budget::Gate::kInconclusive:
        exit_code = inconclusive_fails ? kExitInconclusive : 0;
    }
  }
  STALLSCOPE_RETURN_IF_ERROR(WriteReports(
      outputs, inconclusive_fails, [&](report::Form form, const report::FormOptions& options) {
        return report::Write(report, form, options);
      }));
  const bool printed = std::any_of(outputs.begin(), outputs.end(), [](const ReportOutput& output) {
    return output.form == report::Form::kText && output.path.empty();
  });
  if (report.budget.has_value() && exit_code != 0 && !printed) SayMissed(*report.budget);
  return exit_code;
}

// Behind the options: what a budget can check. Lines that fit stay as they are.
std::string MetricsOfBudgets() {
  constexpr size_t kIndent = 4;
  std::string text;
  const auto add = [&text](const char* title, const std::vector<std::string>& patterns) {
    text += title;
    for (const std::string& metric : budget::InFewLines(patterns)) {
      for (const std::string& line : words::Wrapped("  " + metric, words::kTextWidth, kIndent)) {
        text += "\n" + line;
      }
    }
  };
  add("Metrics of a budget, where NAME is a row's, as in stages[decode].utilization:",
      budget::KnownFigures());
  add("\nMetrics of these that a max_regression can have:", budget::ComparedFigures());
  return text;
}

}  // namespace

void AddAnalyze(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* command = app.add_subcommand(
      "analyze", "Report what bounds a run, where its stalls come from, and what to change");
  command
      ->add_option("TRACE", arguments->traces,
                   "Trace to analyze; several traces are the ranks of one run")
      ->required();
  arguments->outputs = std::make_unique<ReportOutputs>(*command);
  command
      ->add_option("--budget", arguments->budget,
                   "Budget file whose checks the run must pass (JSON)")
      ->type_name("FILE");
  command->add_option("--base", arguments->base, "Runs that max_regression checks compare against")
      ->type_name("TRACE");
  command
      ->add_option("--inconclusive", arguments->inconclusive, "How to count an inconclusive check")
      ->check(CLI::IsMember({"pass", "fail"}))
      ->capture_default_str();
  command->add_flag("--no-price", arguments->no_price,
                    "Skip predicting what each change would gain");
  command->add_flag("--first-epoch", arguments->first_epoch,
                    "Report on the first epoch, or the cold start, instead of the steady part");
  command->footer(&MetricsOfBudgets);
  command->callback([arguments, &exit_code] {
    const Result<int> done = RunAnalyze(*arguments);
    exit_code = done.ok() ? done.value() : Fail(done.error());
  });
}

}  // namespace stallscope::cli
