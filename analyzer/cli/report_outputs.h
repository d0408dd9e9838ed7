// --format and -o of the commands that report: which forms, and where each goes. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_REPORT_OUTPUTS_H_
#define STALLSCOPE_ANALYZER_CLI_REPORT_OUTPUTS_H_

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/report/forms.h"

namespace stallscope::cli {

struct ReportOutput {
  report::Form form = report::Form::kText;
  std::string path;  // empty: stdout
};

// Adds --format and -o to a command; what they ask for is known after the parsing. An -o belongs to
// the --format before it. At most one form goes to stdout; without any it is text.
class ReportOutputs {
 public:
  explicit ReportOutputs(CLI::App& command);

  // Wrong usage: an -o too many, two forms for stdout.
  Result<std::vector<ReportOutput>> Asked() const;

 private:
  CLI::App& command_;
  CLI::Option* format_;
  CLI::Option* output_;
  std::vector<std::string> formats_;
  std::vector<std::string> paths_;
};

// Writes each form, made by `make`. All of them are tried; the first error is given back.
Status WriteReports(
    const std::vector<ReportOutput>& outputs, bool inconclusive_fails,
    const std::function<std::string(report::Form form, const report::FormOptions& options)>& make);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_REPORT_OUTPUTS_H_
