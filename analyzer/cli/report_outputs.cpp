#include "analyzer/cli/report_outputs.h"

#include <CLI/CLI.hpp>

#include "analyzer/cli/output.h"
#include "analyzer/cli/terminal.h"

namespace stallscope::cli {

ReportOutputs::ReportOutputs(CLI::App& command) : command_(command) {
  format_ = command.add_option("--format", formats_, "A form of the report; again for another one")
                ->check(CLI::IsMember(
                    std::vector<std::string>(report::kFormWords.begin(), report::kFormWords.end())))
                ->allow_extra_args(false)
                ->take_all();
  output_ = command
                .add_option("-o,--output", paths_,
                            "The file for the --format before it, instead of stdout")
                ->allow_extra_args(false)
                ->take_all();
}

Result<std::vector<ReportOutput>> ReportOutputs::Asked() const {
  std::vector<ReportOutput> asked;
  size_t format = 0;
  size_t path = 0;
  for (const CLI::Option* option : command_.parse_order()) {
    if (option == format_ && format < formats_.size()) {
      asked.push_back({report::FormOf(formats_[format++]).value_or(report::Form::kText), ""});
    }
    if (option != output_ || path == paths_.size()) continue;
    if (asked.empty()) asked.emplace_back();
    if (!asked.back().path.empty()) {
      return Error{ErrorKind::kUsage, "two files for one form of the report", paths_[path],
                   "give each -o a --format of its own"};
    }
    asked.back().path = paths_[path++];
  }
  if (asked.empty()) asked.emplace_back();
  size_t to_stdout = 0;
  for (const ReportOutput& output : asked) to_stdout += output.path.empty() ? size_t{1} : 0;
  if (to_stdout > 1) {
    return Error{ErrorKind::kUsage, "several forms of the report for stdout", "--format",
                 "give all but one an -o FILE"};
  }
  return asked;
}

Status WriteReports(
    const std::vector<ReportOutput>& outputs, bool inconclusive_fails,
    const std::function<std::string(report::Form form, const report::FormOptions& options)>& make) {
  Status first;
  for (const ReportOutput& report : outputs) {
    report::FormOptions options;
    options.text.colors = report.path.empty() && UseColors();
    options.sarif.tool_version = STALLSCOPE_VERSION;
    options.inconclusive_fails = inconclusive_fails;
    const std::string text = make(report.form, options);
    auto output = Output::Open(report.path);
    Status done = output.ok() ? output.value().Write(text) : Status(output.error());
    if (done.ok()) done = output.value().Finish();
    const bool left = output.ok() && output.value().reader_left();
    if (!done.ok() && !left && first.ok()) first = done;
  }
  return first;
}

}  // namespace stallscope::cli
