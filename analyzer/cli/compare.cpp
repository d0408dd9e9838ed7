#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/compare/compare.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> base;
  std::vector<std::string> now;
  std::string inconclusive = "fail";
  std::unique_ptr<ReportOutputs> outputs;
};

Result<int> RunCompare(const CompareArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto outputs, arguments.outputs->Asked());
  STALLSCOPE_ASSIGN_OR_RETURN(const auto base,
                              workbench::Summarize(arguments.base, PrintWarnings()));
  STALLSCOPE_ASSIGN_OR_RETURN(const auto now, workbench::Summarize(arguments.now, PrintWarnings()));
  const compare::Comparison comparison = compare::Compare(base, now);
  const bool inconclusive_fails = arguments.inconclusive == "fail";
  STALLSCOPE_RETURN_IF_ERROR(WriteReports(
      outputs, inconclusive_fails, [&](report::Form form, const report::FormOptions& options) {
        report::FormOptions placed = options;
        placed.sarif.trace = arguments.now.front();
        return report::Write(comparison, form, placed);
      }));
  switch (comparison.answer) {
    case compare::Answer::kSlower:
      return kExitFailed;
    case compare::Answer::kInconclusive:
      return inconclusive_fails ? kExitInconclusive : 0;
    case compare::Answer::kFaster:
    case compare::Answer::kNoRealChange:
      break;
  }
  return 0;
}

}  // namespace

void AddCompare(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Report whether a change made runs faster or slower, and where");
  command->add_option("--base", arguments->base, "Runs before the change")
      ->type_name("TRACE")
      ->required();
  command->add_option("--new", arguments->now, "Runs after the change")
      ->type_name("TRACE")
      ->required();
  arguments->outputs = std::make_unique<ReportOutputs>(*command);
  command
      ->add_option("--inconclusive", arguments->inconclusive,
                   "How to count an inconclusive comparison")
      ->check(CLI::IsMember({"pass", "fail"}))
      ->capture_default_str();
  command->callback([arguments, &exit_code] {
    const Result<int> done = RunCompare(*arguments);
    exit_code = done.ok() ? done.value() : Fail(done.error());
  });
}

}  // namespace stallscope::cli
