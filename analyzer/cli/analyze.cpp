#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/analysis.h"
#include "analyzer/cli/exit_code.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/report_outputs.h"
#include "analyzer/compare/compare.h"
#include "analyzer/report/budget.h"
#include "analyzer/report/report.h"

namespace stallscope::cli {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> traces;
  std::vector<std::string> base;
  std::string budget;
  std::string inconclusive = "fail";
  bool no_price = false;
  std::unique_ptr<ReportOutputs> outputs;
};

// Base against this run, for a budget that asks for it.
Result<std::optional<compare::Comparison>> AgainstBase(const AnalyzeArguments& arguments,
                                                       const Analysed& now) {
  if (arguments.base.empty()) return std::optional<compare::Comparison>();
  std::vector<compare::RunSummary> base;
  for (const std::string& trace : arguments.base) {
    STALLSCOPE_ASSIGN_OR_RETURN(const Analysed analysed, Analyse({trace}));
    base.push_back(compare::Summarise(analysed.run, analysed.attribution));
  }
  return std::optional(compare::Compare(base, {compare::Summarise(now.run, now.attribution)}));
}

Result<int> RunAnalyze(const AnalyzeArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto outputs, arguments.outputs->Asked());
  std::optional<report::Budget> budget;
  if (!arguments.budget.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(budget, report::ReadBudgetFile(arguments.budget));
    if (budget->NeedsBase() && arguments.base.empty()) {
      return Error{ErrorKind::kUsage, "a check of max_regression needs a run to compare with",
                   arguments.budget, "give --base TRACE"};
    }
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const Analysed analysed, Analyse(arguments.traces));
  report::Report report = ReportOn(analysed, !arguments.no_price);
  if (std::any_of(outputs.begin(), outputs.end(),
                  [](const ReportOutput& output) { return output.form == report::Form::kHtml; })) {
    report.pictures = report::PicturesOf(analysed.run, analysed.attribution);
  }
  const bool inconclusive_fails = arguments.inconclusive == "fail";
  int exit_code = 0;
  if (budget.has_value()) {
    STALLSCOPE_ASSIGN_OR_RETURN(report.against_base, AgainstBase(arguments, analysed));
    const compare::Comparison* const base = report.against_base ? &*report.against_base : nullptr;
    STALLSCOPE_ASSIGN_OR_RETURN(report.budget, report::CheckBudget(*budget, report, base));
    switch (report::GateOf(*report.budget)) {
      case report::Gate::kHeld:
        break;
      case report::Gate::kFailed:
        exit_code = kExitFailed;
        break;
      case report::Gate::kInconclusive:
        exit_code = inconclusive_fails ? kExitInconclusive : 0;
    }
  }
  STALLSCOPE_RETURN_IF_ERROR(WriteReports(
      outputs, inconclusive_fails, [&](report::Form form, const report::FormOptions& options) {
        return report::Write(report, form, options);
      }));
  return exit_code;
}

}  // namespace

void AddAnalyze(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* command = app.add_subcommand(
      "analyze", "Say what bounds a run, where its stalls come from, and what to change");
  command->add_option("TRACE", arguments->traces, "The trace; several are the ranks of one run")
      ->required();
  arguments->outputs = std::make_unique<ReportOutputs>(*command);
  command->add_option("--budget", arguments->budget, "Checks that the run must hold (JSON)");
  command->add_option("--base", arguments->base, "Runs that max_regression compares with");
  command
      ->add_option("--inconclusive", arguments->inconclusive,
                   "What a check that cannot be decided counts as")
      ->check(CLI::IsMember({"pass", "fail"}))
      ->capture_default_str();
  command->add_flag("--no-price", arguments->no_price, "Do not predict what changes would gain");
  command->callback([arguments, &exit_code] {
    const Result<int> done = RunAnalyze(*arguments);
    exit_code = done.ok() ? done.value() : Fail(done.error());
  });
}

}  // namespace stallscope::cli
